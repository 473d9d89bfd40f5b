import { defineConfig } from 'vitest/config';

/** Suites that need another implementation on the machine; not part of `npm test`. See `.ci/interop-python`. */
export default defineConfig({
  root: new URL('../..', import.meta.url).pathname,
  test: {
    include: ['test/interop/**/*.interop.ts'],
    setupFiles: 'test/helpers/set-up.ts',
    testTimeout: 60_000,
    hookTimeout: 120_000,
    reporters: ['default', ['json', { outputFile: process.env.TEST_REPORT ?? 'coverage/interop.json' }]],
  },
});
