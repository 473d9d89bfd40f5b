import { createSecretKey } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { encryptSegments } from '../../../../lib/crypt4gh/index.ts';
import {
  type FileJob,
  runFileJob,
  type SharedFileJob,
  shareFileJob,
} from '../../../../lib/crypt4gh/threads/file-job.ts';
import { collect, generatedPlaintext } from '../../../helpers/crypt4gh-vectors.ts';

const encryptedSegmentBytes = 65_564;
const directory = mkdtempSync(join(tmpdir(), 'crypt4gh-file-job-'));
afterAll(() => rmSync(directory, { recursive: true }));

const dataKey = new Uint8Array(32).fill(7);
// Three takes of four segments; the last segment is not full.
const plaintext = generatedPlaintext('file job', 9 * 65_536 + 100);
const body = await collect(encryptSegments([plaintext], { dataKey }));

let source: FileHandle;
let target: FileHandle;
beforeEach(async () => {
  writeFileSync(join(directory, 'source'), body);
  source = await open(join(directory, 'source'), 'r+');
  target = await open(join(directory, 'target'), 'w+');
});
afterEach(async () => {
  await source.close();
  await target.close();
});

function jobFrom(next: number): { job: SharedFileJob; next: Int32Array } {
  const job: FileJob = {
    kind: 'decrypt-file',
    dataKeys: [createSecretKey(dataKey)],
    source: source.fd,
    target: target.fd,
    from: 0,
    length: body.length,
    to: 0,
  };
  const [shared, ...others] = shareFileJob(job, 2);
  if (shared === undefined || others.length !== 1) throw new Error('expected a job for each of two threads');
  expect(others[0]?.next).toBe(shared.next);
  const numbers = new Int32Array(shared.next);
  numbers[0] = next;
  return { job: shared, next: numbers };
}

const written = () => readFileSync(join(directory, 'target'));
const damage = (segment: number) => source.write(Buffer.alloc(16), 0, 16, segment * encryptedSegmentBytes + 50);

test('segments that other threads have taken are left to them', () => {
  const { job } = jobFrom(4);
  expect(runFileJob(job)).toEqual({});
  expect(
    written()
      .subarray(0, 4 * 65_536)
      .every((byte) => byte === 0),
  ).toBe(true);
  expect(
    written()
      .subarray(4 * 65_536)
      .equals(plaintext.subarray(4 * 65_536)),
  ).toBe(true);
});

test('a damaged segment stops this thread at once, and the others when they have done what they have taken', async () => {
  await damage(5);
  const { job, next } = jobFrom(0);
  expect(runFileJob(job)).toEqual({ damaged: 5 });
  expect(written().equals(plaintext.subarray(0, 5 * 65_536))).toBe(true);
  expect(next[0]).toBe(10);
});

test('an error of the file system stops it, too', async () => {
  await source.truncate(6 * encryptedSegmentBytes);
  const { job, next } = jobFrom(0);
  expect(() => runFileJob(job)).toThrow('the source became shorter while it was read');
  expect(next[0]).toBe(10);
});
