import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeAll, expect, test } from 'vitest';

import { encrypt } from '../../lib/crypt4gh/index.ts';
import { addFile } from '../../lib/ops/archive/add-file.ts';
import type { Target } from '../../lib/ops/target.ts';
import { bytesOf } from '../helpers/made-files.ts';
import { makeOpsWorld } from '../helpers/ops-world.ts';

const mebibyte = 1 << 20;
const size = 192 * mebibyte;

let collectGarbage: () => void;
beforeAll(() => {
  setFlagsFromString('--expose-gc');
  collectGarbage = runInNewContext('gc');
});

/** Bytes of all buffers that something still holds. Their memory is given back beside the collection, so wait for it. */
async function heldBytes(): Promise<number> {
  for (let round = 0; round < 3; round += 1) {
    collectGarbage();
    await nextTurn();
  }
  return process.memoryUsage().arrayBuffers;
}

test.each(['plaintext', 'Crypt4GH'])('a %s of 192 MiB passes without being kept', async (form) => {
  const world = await makeOpsWorld();
  let kept: number | undefined;
  // A bucket that keeps nothing: whatever is in memory at the end, the tool holds.
  const bodies: Target['bodies'] = {
    location: 'https://s3.example/archive',
    upload: async (key, source) => {
      const before = await heldBytes();
      let sent = 0;
      for await (const chunk of source) {
        sent += chunk.length;
        if (sent >= size - mebibyte) kept ??= (await heldBytes()) - before;
      }
      world.bodies.set(key, Buffer.alloc(0));
      return { size: sent };
    },
    holds: () => true,
    remove: async () => {},
  };
  const plain = bytesOf({ path: 'memory', size });
  const bytes = form === 'plaintext' ? plain : encrypt(plain, { recipients: [world.archiveKey.publicKey] });
  const added = await addFile(
    { ...world.target, bodies },
    {
      datasetId: 'EGAD1',
      path: 'memory',
      input: { label: 'memory', size: undefined, bytes },
      keys: [world.archiveKey],
      signal: new AbortController().signal,
    },
  );
  expect(added.decryptedSize).toBe(size);
  expect(kept).toBeLessThan(16 * mebibyte);
});
