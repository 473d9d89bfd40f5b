import { describe, expect, test } from 'vitest';
import {
  askedRanges,
  endMarkers,
  type PartForm,
  parsePart,
  partName,
  plaintextTicket,
  readIndex,
  ticketInParts,
  wholeFile,
} from '../../../lib/regions/index.ts';
import { memory, offset, opened, streamed, words } from '../../helpers/region-files.ts';

const version = '0123456789abcdef'.repeat(2);
const reader = 'ab'.repeat(32);

describe('the name of a part', () => {
  test.each<[string, PartForm]>([
    [
      'records.0_5-70000_0',
      { kind: 'records', range: { start: { block: 0, within: 5 }, end: { block: 70000, within: 0 } } },
    ],
    [
      'records.5_n-7_n',
      {
        kind: 'records',
        range: { start: { block: 5, within: 0, nominal: true }, end: { block: 7, within: 0, nominal: true } },
      },
    ],
    [`segments.0-65564.${reader}`, { kind: 'segments', start: 0, end: 65564, reader }],
  ])('%s', (name, form) => {
    expect(partName({ version, form })).toBe(`${version}.${name}`);
    expect(parsePart(`${version}.${name}`)).toEqual({ version, form });
  });

  test.each([
    'records.0_5-70000_0',
    `${version}.RECORDS.0_5-70000_0`,
    `${version}.records.0_5-70000_0.`,
    `${version}.header`,
    `${version}.records.1_0-1_0`,
    `${version}.records.2_0-1_5`,
    `${version}.records.01_0-2_0`,
    `${version}.records.0_0-99999999999999999_0`,
    `${version}.segments.5-5.${reader}`,
    `${version}.segments.0-5.${reader.slice(1)}`,
    `${version}.segments.0-5`,
  ])('is not %s', (name) => {
    expect(parsePart(name)).toBeUndefined();
  });
});

describe('a ticket', () => {
  const headers = { Authorization: 'Bearer t' };
  const urlOf = (form: PartForm) => ({ url: `https://x/${partName({ version, form })}`, headers });
  const options = { format: 'BAM', urlOf, partSizes: [2 ** 20] } as const;
  const partAt = (name: string) => ({ url: `https://x/${version}.${name}`, headers });
  const urlsOf = (document: string) => JSON.parse(document).htsget.urls;

  test('holds a small answer itself, with the end of a file behind it', async () => {
    const file = await opened('reads.bam', 'reads.bam.bai');
    const range = { start: { block: 23_495, within: 0 }, end: { block: 46_501, within: 0 } };
    const document = await plaintextTicket(file, [range], { ...options, inlinedBytes: 100_000 });
    const data = (bytes: Uint8Array) => `data:;base64,${Buffer.from(bytes).toString('base64')}`;
    expect(JSON.parse(document)).toEqual({
      htsget: {
        format: 'BAM',
        urls: [
          { url: data(await file.source.read(0, 198)), class: 'header' },
          { url: data(await file.source.read(23_495, 46_501)), class: 'body' },
          { url: data(endMarkers.BAM), class: 'body' },
        ],
      },
    });
  });

  test('names what is large with its headers, and no end marker where the file gives its own', async () => {
    const file = await opened('reads.bam', 'reads.bam.bai');
    const document = await plaintextTicket(file, [wholeFile(file.head)], { ...options, inlinedBytes: 197 });
    expect(urlsOf(document)).toEqual([
      { ...partAt('records.0_0-198_0'), class: 'header' },
      { ...partAt('records.198_0-249442_0'), class: 'body' },
    ]);
  });

  test.each([
    [4_100_000, ['data:', 'data:']],
    [4_150_000, ['data:', 'https:']],
  ])('holds what fits into 5.5 MB: %d bytes', async (size, schemes) => {
    const source = memory(Buffer.alloc(size));
    const end = { block: 4, within: 0 };
    const head = { format: 'BAM', bytes: Buffer.from('head'), references: [], end, size, memoryBytes: 4 } as const;
    const all = { ...options, partSizes: [size], inlinedBytes: size + 2 ** 20 };
    const document = await plaintextTicket({ source, head, index: undefined }, [wholeFile(head)], all);
    expect(urlsOf(document).map(({ url }: { url: string }) => new URL(url).protocol)).toEqual(schemes);
  });

  test('is refused for an index that names 20,000 ranges', async () => {
    const file = await opened('reads.bam', 'reads.bam.bai');
    const asked = async (count: number) => {
      const places = Array.from({ length: count }, (_, at) => [offset(5000 + at), offset(5000 + at, 1)]);
      const start = [Buffer.from('BAI\x01'), words(1, 1, 4681, places.length)];
      const index = await readIndex(streamed(Buffer.concat([...start, ...places.flat(), words(0)])));
      const regions = [{ referenceName: 'one' }];
      return { index, ranges: askedRanges({ headerOnly: false, regions }, file.head, index) };
    };
    const { index, ranges } = await asked(20_000);
    expect(ranges).toHaveLength(20_000);
    await expect(asked(80_000)).rejects.toThrow('the records lie in more than 65536 places');
    await expect(plaintextTicket({ ...file, index }, ranges, { ...options, inlinedBytes: 1000 })).rejects.toThrow(
      expect.objectContaining({ code: 'request_too_large' }),
    );
  });

  test('names a header that would leave no room for URLs', async () => {
    const bytes = Buffer.alloc(3_900_000);
    const [end, size] = [{ block: bytes.length, within: 0 }, 10_000_000];
    const head = { format: 'BAM', bytes, references: [], end, size, memoryBytes: bytes.length } as const;
    const file = { source: memory(Buffer.alloc(size)), head, index: undefined };
    const document = await plaintextTicket(file, [wholeFile(head)], { ...options, inlinedBytes: 4 * 2 ** 20 });
    expect(urlsOf(document)[0]).toEqual({ ...partAt('records.0_0-3900000_0'), class: 'header' });
  });

  test('has larger parts where it would be over 5 MB, and none that is still too long', () => {
    const mebibyte = 2 ** 20;
    const long = {
      format: 'BAM',
      urlOf: () => ({ url: 'x'.repeat(200), headers: { Authorization: 'x'.repeat(600) } }),
      partSizes: [5 * mebibyte, 10 * mebibyte],
    } as const;
    const parts = (bytes: number) => {
      const form = { kind: 'segments', start: 0, end: 1, reader } as const;
      const cut = (partBytes: number) => Array.from({ length: Math.ceil(bytes / partBytes) }, () => ({ form }));
      return urlsOf(ticketInParts(bytes, cut, long)).length;
    };
    expect(parts(10_000 * mebibyte)).toBe(2_000);
    expect(parts(40_000 * mebibyte)).toBe(4_000);
    expect(() => parts(100_000 * mebibyte)).toThrow(expect.objectContaining({ code: 'request_too_large' }));
    expect(() => parts(2e13)).toThrow(expect.objectContaining({ code: 'request_too_large' }));
  });
});
