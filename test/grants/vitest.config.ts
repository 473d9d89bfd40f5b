import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** What the end-to-end tests leave unused. `npm run grants` runs it, and `.ci/run` through that. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: ['test/grants/**/*.grants.ts'],
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url)) },
    testTimeout: 60_000,
    hookTimeout: 120_000,
    reporters: ['default'],
  },
});
