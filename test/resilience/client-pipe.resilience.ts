import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { ClientWorld, namesIn } from '../helpers/client-world.ts';
import type { FaultProxy } from '../helpers/fault-proxy.ts';

/** `download -o - | decrypt`: as processes of a shell that knows the status of the last one only. */
let world: ClientWorld;
let plaintext: Buffer;
let faults: FaultProxy;
let folder: string;

beforeAll(async () => {
  world = await ClientWorld.start();
  ({ plaintext } = await world.stageContainer('sample.bam.c4gh', 17 * 2 ** 20 + 777));
});
afterAll(() => world?.stop());
beforeEach(async () => {
  faults = await world.faults();
  folder = await world.folder();
});
afterEach(() => faults.stop());

async function piped() {
  const shell = `"$@" download sample.bam.c4gh -o - | "$@" decrypt --key "$KEY" -o "$FOLDER/sample.bam"`;
  const env = { KEY: world.keyPath, FOLDER: folder };
  return await world.run([], { url: faults.url, env, within: ['bash', '-c', shell, 'bash'] });
}

test('gives the plaintext, through connections that are cut', async () => {
  faults.break({ on: 'storage', fault: { kind: 'cut', bytes: 1_000_000 }, times: 3 });
  const { exitCode, stderr } = await piped();
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('trying again') });
  expect((await readFile(join(folder, 'sample.bam'))).equals(plaintext)).toBe(true);
});

test('fails and leaves no file when the download ends with an error', async () => {
  faults.break({ on: 'storage', fault: { kind: 'answer', status: 412 }, skip: 2, times: 1000 });
  expect(await piped()).toMatchObject({ exitCode: 8, stderr: expect.stringContaining('cut off') });
  expect(await namesIn(folder)).toEqual([]);
});
