import { expect, test } from 'vitest';
import { allKinds, runCases } from '../fuzz/campaign.ts';

/** Enough of `npm run fuzz` to reach the outcomes that matter within seconds. */
const counts = { headers: 600, containers: 100, keyFiles: 300 } as const;
/** The least that the cases must reach: a fuzzer whose every case is refused at the first check proves nothing. */
const reached = {
  headers: ['ok', 'multiple-edit-lists', 'malformed-edit-list', 'unknown-packet-type', 'malformed-packet'],
  containers: [
    'ok',
    'segment-authentication-failed',
    'truncated-segment',
    'truncated-body',
    'oversized-body',
    'no-decryptable-packet',
  ],
  keyFiles: ['ok', 'passphrase-required', 'invalid-key-format', 'invalid-key-length'],
} as const;

test.each(allKinds)(
  'fuzzed with a fixed seed, the library raises its own errors and nothing else: %s',
  async (kind) => {
    const outcomes = await runCases({ kind, seed: 'fixed', count: counts[kind] });
    expect([...outcomes.keys()]).toEqual(expect.arrayContaining([...reached[kind]]));
  },
);
