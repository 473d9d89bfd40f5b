import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** Many exports under random faults, and many random requests. `npm run soak`; `.ci/run` calls a short form of it. */
export default defineConfig({
  root: new URL('../..', import.meta.url).pathname,
  test: {
    include: ['test/soak/**/*.soak.ts'],
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url)) },
    setupFiles: 'test/helpers/set-up.ts',
    // The suites end automatically: every wait in them has its own limit.
    testTimeout: 6 * 60 * 60_000,
    hookTimeout: 30 * 60_000,
    // So that the engine's memory is measured without garbage.
    execArgv: ['--expose-gc'],
    // One after the other: each has the machine for itself.
    fileParallelism: false,
    reporters: ['default', ['json', { outputFile: process.env.TEST_REPORT ?? 'coverage/soak.json' }]],
  },
});
