import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** Faults at every step, restarts, hostile callers, the demonstration, long listings. Too long for `npm test`; `npm run test:resilience`, which `.ci/run` calls. */
export default defineConfig({
  root: new URL('../..', import.meta.url).pathname,
  test: {
    include: ['test/resilience/**/*.resilience.ts'],
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url)) },
    testTimeout: 60_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
    reporters: ['default', ['json', { outputFile: process.env.TEST_REPORT ?? 'coverage/resilience.json' }]],
  },
});
