import { defineConfig } from 'vitest/config';
import { experimental } from '../../vitest.config.ts';

/** Suites that need another implementation on the machine; not part of `npm test`. See `.ci/interop-python`. */
export default defineConfig({
  root: new URL('../..', import.meta.url).pathname,
  test: {
    include: ['test/interop/**/*.interop.ts'],
    experimental,
    globalSetup: 'test/helpers/run-folder.ts',
    setupFiles: 'test/helpers/set-up.ts',
    // Files that share an engine run one after the other in one process.
    maxWorkers: 1,
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    reporters: ['default', ['json', { outputFile: process.env.TEST_REPORT ?? 'coverage/interop.json' }]],
  },
});
