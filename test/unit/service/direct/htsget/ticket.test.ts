import { describe, expect, test } from 'vitest';
import { RequestTooLargeError } from '../../../../../lib/errors.ts';
import { type PartForm, parsePart, partName } from '../../../../../lib/regions/index.ts';
import { indexNames } from '../../../../../lib/service/direct/htsget/index-names.ts';
import {
  inlinedTicket,
  segmentParts,
  ticketInParts,
  ticketOf,
} from '../../../../../lib/service/direct/htsget/ticket.ts';

const version = '0123456789abcdef'.repeat(2);
const reader = 'ab'.repeat(32);
const mebibyte = 2 ** 20;

describe('the name of a part', () => {
  test.each<[string, PartForm]>([
    ['header', { kind: 'header' }],
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
    'header',
    `${version}.HEADER`,
    `${version}.header.`,
    `${version}.records.1_0-1_0`,
    `${version}.records.2_0-1_5`,
    `${version}.records.0_65536-2_0`,
    `${version}.records.0_0-2_65536`,
    `${version}.records.01_0-2_0`,
    `${version}.records.0_0-9999999999999999_0`,
    `${version}.segments.5-5.${reader}`,
    `${version}.segments.0-5.${reader.slice(1)}`,
    `${version}.segments.0-5`,
  ])('is not %s', (name) => {
    expect(parsePart(name)).toBeUndefined();
  });
});

describe('a ticket', () => {
  const options = {
    format: 'BAM',
    urlOf: (form: PartForm) => ({
      url: `https://x/${partName({ version, form })}`,
      headers: { Authorization: 'Bearer t' },
    }),
  } as const;

  test('has a data URL without headers for bytes at hand, and headers for all others', () => {
    const pieces = [
      { class: 'header', bytes: Buffer.from('head') },
      { class: 'body', form: { kind: 'header' } },
      { class: 'body', bytes: new Uint8Array() },
    ] as const;
    expect(JSON.parse(ticketOf(pieces, options))).toEqual({
      htsget: {
        format: 'BAM',
        urls: [
          { url: 'data:;base64,aGVhZA==', class: 'header' },
          { url: `https://x/${version}.header`, headers: { Authorization: 'Bearer t' }, class: 'body' },
        ],
      },
    });
  });

  test('holds what fits into 5.5 MB', () => {
    expect(inlinedTicket([{ bytes: Buffer.alloc(4_100_000) }], options)).toBeDefined();
    expect(inlinedTicket([{ bytes: Buffer.alloc(4_150_000) }], options)).toBeUndefined();
  });

  test('has larger parts where it would be over 5 MB, and none that is still too long', () => {
    const cut = (bytes: number) => (partBytes: number) => segmentParts([{ start: 0, end: bytes }], reader, partBytes);
    const parts = (bytes: number) => JSON.parse(ticketInParts(bytes, cut(bytes), long)).htsget.urls.length;
    const long = {
      format: 'BAM',
      urlOf: () => ({ url: 'x'.repeat(200), headers: { Authorization: 'x'.repeat(600) } }),
    } as const;
    // 79 segments of 65,564 bytes are the most below 5 MiB, and 159 below 10.
    expect(parts(10_000_000_000)).toBe(Math.ceil(10_000_000_000 / (79 * 65_564)));
    expect(parts(40_000_000_000)).toBe(Math.ceil(40_000_000_000 / (159 * 65_564)));
    expect(() => parts(2e13)).toThrow(RequestTooLargeError);
  });

  test('of segments has each byte of the ranges once', () => {
    const ranges = [
      { start: 0, end: 65_564 },
      { start: 10 * 65_564, end: 10 * 65_564 + 6 * mebibyte },
    ];
    const second = 10 * 65_564 + 79 * 65_564;
    expect(segmentParts(ranges, reader, 5 * mebibyte).map((piece) => 'form' in piece && piece.form)).toEqual([
      { kind: 'segments', start: 0, end: 65_564, reader },
      { kind: 'segments', start: 10 * 65_564, end: second, reader },
      { kind: 'segments', start: second, end: 10 * 65_564 + 6 * mebibyte, reader },
    ]);
  });
});

test('the names of an index follow from that of its data file, plain or encrypted', () => {
  const of = (path: string) =>
    indexNames
      .filter(({ ending }) => path.toLowerCase().endsWith(ending))
      .map(({ drop, add }) => path.slice(0, path.length - drop) + add);
  const indexes = ['a/X.BAM.bai', 'a/X.bai', 'a/X.BAM.csi', 'a/X.csi'].flatMap((name) => [name, `${name}.c4gh`]);
  expect(of('a/X.BAM')).toEqual(indexes);
  expect(of('a/X.BAM.c4gh')).toEqual(indexes);
  expect(of('y.vcf.gz.c4gh').slice(0, 4)).toEqual(['y.vcf.gz.tbi', 'y.vcf.gz.tbi.c4gh', 'y.tbi', 'y.tbi.c4gh']);
});
