import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DataOutError } from '../../lib/errors.ts';
import { readIndex, virtualRangesOf, wholeBlockRanges } from '../../lib/regions/index.ts';
import { mutated } from '../fuzz/mutations.ts';
import { Seeded } from '../fuzz/seeded.ts';
import { shapeNames, type Taken } from '../helpers/hostile-indexes.ts';
import { opened, streamed, vector } from '../helpers/region-files.ts';
import { runs } from '../helpers/runs.ts';

/** What one request of htsget may take, whatever index, header and list of regions it is given. */
const most = { processorSeconds: 20, megabytes: 200 };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-regions-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const script = join(import.meta.dirname, '../helpers/hostile-indexes.ts');
const run = async (...argv: readonly string[]) =>
  (await promisify(execFile)(process.execPath, [script, ...argv])).stdout;

test.each(shapeNames)('an index or a header that was made to be dear: %s', { timeout: 180_000 }, async (name) => {
  const file = join(folder, 'file');
  await run('make', name, file);
  const taken = JSON.parse(await run('read', name, file)) as Taken;
  expect(taken.processorSeconds, JSON.stringify(taken)).toBeLessThan(most.processorSeconds);
  expect(taken.megabytes, JSON.stringify(taken)).toBeLessThan(most.megabytes);
  if (taken.refusal !== undefined) expect(taken.refusal).toContain('The file cannot be cut into regions');
});

describe('mutants of an index', () => {
  const mutants = runs(500);
  test.each([
    ['reads.bam', 'reads.bam.bai', 'one'],
    ['reads.bam', 'reads.bam.csi', 'one'],
    ['variants.vcf.gz', 'variants.vcf.gz.tbi', 'one'],
    ['reads.cram', 'reads.cram.crai', 'one'],
  ])(
    '%s, %s: each is answered or refused, within the budget',
    { timeout: 300_000 },
    async (data, index, referenceName) => {
      const { source, head } = await opened(data, index);
      const bytes = vector(index);
      const isCompressed = bytes[0] === 0x1f;
      const plain = isCompressed ? gunzipSync(bytes) : bytes;
      const random = new Seeded(`mutants of ${index}`);
      const regions = [{ referenceName }, { referenceName, start: 1000, end: 2000 }];
      let answered = 0;
      for (let count = 0; count < mutants; count += 1) {
        const mutant = mutated(random, plain, 4);
        const started = process.cpuUsage();
        try {
          const read = await readIndex(streamed(isCompressed ? gzipSync(mutant, { level: 1 }) : mutant), {
            dataBytes: source.size,
          });
          await wholeBlockRanges({ source, head, index: read }, virtualRangesOf(read, head, regions), { most: 10 });
          expect(read.memoryBytes).toBeLessThanOrEqual(48 * 2 ** 20);
          answered += 1;
        } catch (error) {
          expect(error).toBeInstanceOf(DataOutError);
        }
        const { user, system } = process.cpuUsage(started);
        expect((user + system) / 1e6, `mutant ${count}`).toBeLessThan(most.processorSeconds);
      }
      expect(answered).toBeGreaterThan(0);
      expect(answered).toBeLessThan(mutants);
    },
  );
});
