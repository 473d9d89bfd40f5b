import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** What the tests on shared engines leave unused. `npm run grants` runs it, and `.ci/run` through that. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: ['test/grants/**/*.grants.ts'],
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url)) },
    setupFiles: 'test/helpers/set-up.ts',
    testTimeout: 60_000,
    hookTimeout: 120_000,
    reporters: ['default'],
  },
});
