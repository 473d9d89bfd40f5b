import { execFile } from 'node:child_process';
import { mkdtempDisposable, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

/** The largest receipts, as the service writes them. */

const settling = fileURLToPath(new URL('../helpers/settle-large-request.ts', import.meta.url));

/** The end of a request of so many files, each tenth of which was given up. */
async function settled(files: number) {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'data-out-receipts-'));
  // As Lambda starts Node.js.
  const limits = ['--max-old-space-size=460', '--max-semi-space-size=25'];
  const argv = [...limits, settling, String(files), folder.path];
  const { stdout } = await promisify(execFile)(process.execPath, argv);
  const { outcome, written, peak } = JSON.parse(stdout) as { outcome: unknown; written: string[]; peak: number };
  const receipts = [];
  for (const name of written) {
    const payload = (await readFile(join(folder.path, name), 'latin1')).split('.')[1] ?? '';
    const { part, parts, files, missing } = JSON.parse(Buffer.from(payload, 'base64url').toString());
    receipts.push({ name, part, parts, files: files.length, missing: missing.length, last: files.at(-1).file_id });
  }
  return { outcome, receipts, peak };
}

const name = 'EGAD1-11111111-1111-4111-8111-111111111111';
/** Bytes of the function. */
const memory = 512 * 1024 * 1024;

test('120,000 files are settled in two receipts, the one with the plain name last', {
  timeout: 240_000,
}, async () => {
  const { outcome, receipts, peak } = await settled(120_000);
  expect(outcome).toMatchObject({ outcome: 'settled', state: 'incomplete', staged: 108_000, missing: 12_000 });
  const [part1, part2] = [`${name}.part-1.delivery.jws`, `${name}.delivery.jws`];
  expect(receipts).toEqual([
    { name: part1, part: 1, parts: 2, files: 90_000, missing: 10_000, last: 'EGAF00000099999' },
    { name: part2, part: 2, parts: 2, files: 18_000, missing: 2_000, last: 'EGAF00000119999' },
  ]);
  expect(peak).toBeLessThan(memory);
});
