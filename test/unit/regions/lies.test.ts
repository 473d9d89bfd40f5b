import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import {
  type DataFormat,
  openPart,
  RegionsError,
  readHead,
  readIndex,
  virtualRangesOf,
} from '../../../lib/regions/index.ts';
import { bai, bamHeader, bgzf, memory, offset, opened, streamed, vector, words } from '../../helpers/region-files.ts';

describe('an index that lies is refused', () => {
  const csi = (...fields: readonly number[]) => Buffer.concat([Buffer.from('CSI\x01'), words(...fields)]);
  const tbi = (count: number, names: string, length = names.length) =>
    Buffer.concat([Buffer.from('TBI\x01'), words(count, 2, 1, 2, 0, 35, 0, length), Buffer.from(names)]);
  test.each<[what: string, index: Buffer, message: string]>([
    ['is empty of magic', Buffer.from('PK\x03\x04'), 'it starts as none of BAI, CSI, TBI and CRAI does'],
    ['ends within its magic', Buffer.from('BAI'), 'it starts as none of BAI, CSI, TBI and CRAI does'],
    ['ends within a count', Buffer.from('BAI\x01\x01'), 'it ends within the number of its references'],
    [
      'has a negative number of references',
      Buffer.concat([Buffer.from('BAI\x01'), words(-1)]),
      'the number of its references is -1',
    ],
    [
      'has a negative number of bins',
      Buffer.concat([Buffer.from('BAI\x01'), words(1, -5)]),
      'the number of bins is -5',
    ],
    ['has 2 billion bins', Buffer.concat([Buffer.from('BAI\x01'), words(1, 2 ** 31 - 1)]), 'it ends within a bin'],
    [
      'has a negative number of chunks',
      Buffer.concat([Buffer.from('BAI\x01'), words(1, 1, 4681, -1)]),
      'the number of chunks is -1',
    ],
    [
      'has 2 billion chunks',
      Buffer.concat([Buffer.from('BAI\x01'), words(1, 1, 4681, 2 ** 31 - 1, 0, 0)]),
      'it ends within a chunk',
    ],
    ['has a bin beyond all', bai(37_449, [offset(100), offset(200)]), 'it has a bin 37449, above 37448'],
    [
      'has a chunk that runs backwards',
      bai(4681, [offset(200), offset(100, 5)]),
      'it has a chunk that ends before it starts',
    ],
    [
      'has three chunks of metadata',
      bai(37_450, [offset(1), offset(2)], [offset(1), offset(2)], [offset(1), offset(2)]),
      'its bin of metadata has more than two chunks',
    ],
    ['has bins of 2^31 positions', csi(31, 5, 0, 0), 'its smallest bins have 2^31 positions and its levels are 5'],
    ['has 20 levels', csi(14, 20, 0, 0), 'its smallest bins have 2^14 positions and its levels are 20'],
    ['has auxiliary data of 2 GB', csi(14, 5, 2 ** 31 - 1), 'its auxiliary data have 2147483647 bytes'],
    [
      'has names beyond its auxiliary data',
      csi(14, 5, 28, 2, 1, 2, 0, 35, 0, 4, 0x656e6f, 0),
      'its names are longer than its auxiliary data',
    ],
    ['has a name too few', tbi(2, 'one\0'), 'it has 2 references and 1 names'],
    ['has names of 1 GB', tbi(1, '', 2 ** 30), 'its names have 1073741824 bytes, above 4194304'],
    ['has words in a CRAI', Buffer.from('0\t1\t2\tx\t4\t5\n'), 'it has a line that is not six numbers'],
    ['has five numbers in a CRAI', Buffer.from('0\t1\t2\t3\t4\n'), 'it has a line that is not six numbers'],
    ['has a blank line in a CRAI', Buffer.from('0\t1\t2\t3\t4\t5\n\n'), 'it has a line that is not six numbers'],
    ['has a CRAI line without end', Buffer.alloc(2 ** 20, '1'), 'it has a line above 200 bytes'],
    [
      'is cut within its compression',
      gzipSync(bai(4681, [offset(100), offset(200)])).subarray(0, -12),
      'its compression is damaged',
    ],
    [
      'has a wrong checksum of compression',
      damaged(gzipSync(bai(4681, [offset(100), offset(200)])), -6),
      'its compression is damaged',
    ],
  ])('if it %s', async (_, index, message) => {
    for (const piece of [1, 65_536]) {
      const error = await readIndex(streamed(index, index.length > 1000 ? 65_536 : piece)).catch((reason) => reason);
      expect(error).toEqual(new RegionsError(message));
    }
  });

  test.each<[what: string, end: Buffer, start: Buffer, message: string]>([
    ['behind the end of the file', offset(2 ** 47), offset(5000), 'it names records behind the end of the file'],
    ['within the end marker', offset(249_414, 1), offset(5000), 'it names records behind the end of the file'],
    ['within the header', offset(5000), offset(0), 'it names records within the header'],
  ])('if it names records %s', async (_, end, start, message) => {
    const { head } = await opened('reads.bam', 'reads.bam.bai');
    const index = await readIndex(streamed(bai(4681, [start, end])));
    expect(() => virtualRangesOf(index, head, [{ referenceName: 'one' }])).toThrow(new RegionsError(message));
  });

  test('before it takes more memory than its limit', async () => {
    const many = Buffer.concat([Buffer.from('BAI\x01'), words(1, 2 ** 30)]);
    async function* bins() {
      yield many;
      const bin = words(4681, 0, 4682, 0, 4683, 0, 4684, 0);
      const bytes = Buffer.concat(Array.from({ length: 8192 }, () => bin));
      for (;;) yield bytes;
    }
    await expect(readIndex(bins(), { memoryBytes: 2 ** 20 })).rejects.toThrow(
      new RegionsError('it needs more than 1048576 bytes of memory'),
    );
    async function* references() {
      yield Buffer.concat([Buffer.from('BAI\x01'), words(2 ** 31 - 1)]);
      for (;;) yield Buffer.alloc(2 ** 20);
    }
    await expect(readIndex(references(), { memoryBytes: 2 ** 20 })).rejects.toThrow(
      'it needs more than 1048576 bytes of memory',
    );
    async function* slices() {
      for (;;) yield Buffer.from('0\t1\t2\t3\t4\t5\n'.repeat(5000));
    }
    await expect(readIndex(slices(), { memoryBytes: 2 ** 20 })).rejects.toThrow(
      'it needs more than 1048576 bytes of memory',
    );
  });

  test('before it is inflated beyond its limit', async () => {
    // Bins of no chunks and windows of 0 would also run into the limit of memory.
    const bomb = gzipSync(Buffer.concat([Buffer.from('CSI\x01'), words(14, 5, 4_000_000), Buffer.alloc(8 * 2 ** 20)]));
    expect(bomb.length).toBeLessThan(10_000);
    await expect(readIndex(streamed(bomb), { inflatedBytes: 2 ** 20 })).rejects.toThrow(
      new RegionsError('it has more than 1048576 bytes'),
    );
  });

  test('before it is larger than an index of its file can be', async () => {
    const large = gzipSync(Buffer.concat([Buffer.from('BAI\x01'), words(1, 0, 5_000_000), Buffer.alloc(40_000_000)]));
    await expect(readIndex(streamed(large), { dataBytes: 2 ** 20 })).rejects.toThrow('it has more than 35651584 bytes');
    await expect(readIndex(streamed(large), { dataBytes: 2 ** 24 })).resolves.toBeDefined();
  });

  test('and its stream is closed', async () => {
    let closed = false;
    async function* source() {
      try {
        for (;;) yield Buffer.from('no index at all');
      } finally {
        closed = true;
      }
    }
    await expect(readIndex(source())).rejects.toThrow(RegionsError);
    expect(closed).toBe(true);
  });

  test('but an error of its source is passed on', async () => {
    async function* source() {
      yield vector('reads.bam.csi').subarray(0, 50);
      throw new Error('connection lost');
    }
    await expect(readIndex(source())).rejects.toThrow('connection lost');
  });
});

describe('a file that lies is refused', () => {
  const bam = (plain: Uint8Array) =>
    bgzf(
      plain,
      Array.from({ length: Math.ceil(plain.length / 60_000) }, () => 60_000),
    ).bytes;
  const definition = Buffer.concat([Buffer.from('CRAM\x03\x00'), Buffer.alloc(20)]);
  test.each<[what: string, format: DataFormat, file: Buffer, message: string]>([
    ['is empty', 'BAM', Buffer.alloc(0), 'it does not start as a BAM file does'],
    ['is not BGZF', 'BAM', bamHeader(), 'no BGZF block starts at byte 0'],
    ['is plain gzip', 'VCF', gzipSync('##fileformat=VCFv4.3\n'), 'no BGZF block starts at byte 0'],
    ['is a VCF', 'BAM', vector('variants.vcf.gz'), 'it does not start as a BAM file does'],
    ['is a BAM', 'VCF', vector('reads.bam'), 'it does not start as a VCF file does'],
    ['is a BAM', 'BCF', vector('reads.bam'), 'it does not start as a BCF file does'],
    ['is a BAM', 'CRAM', vector('reads.bam'), 'it does not start as a CRAM file does'],
    ['is cut within a block', 'BAM', bam(bamHeader()).subarray(0, 40), 'the BGZF block at byte 0 is cut off'],
    [
      'is cut within its header',
      'BAM',
      bam(bamHeader().subarray(0, 30)),
      'the header is cut off: it ends within a reference',
    ],
    [
      'has a wrong checksum',
      'BAM',
      damaged(bam(bamHeader()), -6),
      'the BGZF block at byte 0 has another checksum or size than it says',
    ],
    [
      'has a negative length of text',
      'BAM',
      bam(Buffer.from('BAM\x01\xff\xff\xff\xff', 'latin1')),
      'the length of its text is -1, outside of 0 to 33554432',
    ],
    [
      'has 2 billion references',
      'BAM',
      bam(Buffer.concat([Buffer.from('BAM\x01'), words(0, 2 ** 31 - 1)])),
      'the number of its references is 2147483647, outside of 0 to 33554432',
    ],
    [
      'has more references than any reader can use',
      'BAM',
      bam(Buffer.concat([Buffer.from('BAM\x01'), words(0, 2 ** 20 + 1)])),
      'it has more than 1048576 references',
    ],
    [
      'has a header that never ends',
      'BAM',
      bam(Buffer.concat([Buffer.from('BAM\x01'), words(2 ** 25), Buffer.alloc(2 ** 25)])),
      'the header does not end within 33554432 bytes',
    ],
    [
      'has a line that never ends',
      'VCF',
      bam(Buffer.concat([Buffer.from('##fileformat=VCFv4.3\n##'), Buffer.alloc(2 ** 25 + 2 ** 20, 'x')])),
      'the header does not end within 33554432 bytes',
    ],
    [
      'is CRAM 2.1',
      'CRAM',
      Buffer.concat([Buffer.from('CRAM\x02\x01'), Buffer.alloc(20)]),
      'it is CRAM 2.1, and only version 3 is read',
    ],
    [
      'has a header container of 2 GB',
      'CRAM',
      Buffer.concat([definition, words(2 ** 31 - 1), Buffer.alloc(30)]),
      'its header container has 2147483647 bytes',
    ],
    [
      'has 256 million landmarks',
      'CRAM',
      Buffer.concat([definition, words(40), Buffer.alloc(7), Buffer.from('f7ffffff0f', 'hex'), Buffer.alloc(30)]),
      'its header container is cut off',
    ],
    [
      'is cut within its first container',
      'CRAM',
      Buffer.concat([definition, words(40)]),
      'its header container is cut off',
    ],
  ])('if it %s as %s', async (_, format, file, message) => {
    const error = await readHead(memory(file), format).catch((reason) => reason);
    expect(error).toEqual(new RegionsError(message));
  });

  test('if it has empty blocks without end', async () => {
    const blocks = Buffer.concat(Array.from({ length: 10_000 }, () => bgzf(Buffer.alloc(0), [0]).bytes));
    await expect(readHead(memory(blocks), 'BAM')).rejects.toThrow('the header does not end within 8192 blocks');
  });

  test('if a block inflates to more than 64 KiB', async () => {
    const bomb = bgzf(Buffer.alloc(10 * 2 ** 20), [10 * 2 ** 20]).bytes;
    await expect(readHead(memory(bomb), 'BAM')).rejects.toThrow(
      'the BGZF block at byte 0 does not inflate to at most 65536 bytes',
    );
  });

  test('if a part names places that it has not', async () => {
    const source = memory(vector('reads.bam'));
    const from = (block: number, within: number) => ({ start: { block, within }, end: { block: 249_414, within: 0 } });
    await expect(openPart(source, 'BAM', from(0, 65_000))).rejects.toThrow(RegionsError);
    await expect(openPart(source, 'BAM', from(7, 1))).rejects.toThrow('no BGZF block starts at byte 7');
    await expect(openPart(source, 'BAM', from(-1, 0))).rejects.toThrow(expect.objectContaining({ code: 'not_found' }));
    await expect(openPart(source, 'BAM', from(0.5, 0))).rejects.toThrow(expect.objectContaining({ code: 'not_found' }));
    await expect(openPart(source, 'BAM', from(0, 65_536))).rejects.toThrow(
      expect.objectContaining({ code: 'not_found' }),
    );
    await expect(openPart(source, 'CRAM', from(0, 1))).rejects.toThrow(expect.objectContaining({ code: 'not_found' }));
    await expect(openPart(source, 'BAM', from(2 ** 40, 0))).rejects.toThrow(
      expect.objectContaining({ code: 'not_found' }),
    );
    const backwards = { start: { block: 249_414, within: 0 }, end: { block: 0, within: 0 } };
    await expect(openPart(source, 'BAM', backwards)).rejects.toThrow('a part ends before it starts');
  });
});

function damaged(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[copy.length + at]! ^= 1;
  return copy;
}
