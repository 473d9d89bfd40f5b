import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { experimental } from '../../vitest.config.ts';

/** The administrators' page in a real browser; `.ci/browser/run` finds the browser and installs what drives it. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: ['test/browser/**/*.browser.ts'],
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url)) },
    experimental,
    setupFiles: 'test/helpers/set-up.ts',
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    // The files share one engine and one browser.
    maxWorkers: 1,
    isolate: false,
    reporters: ['default', ['json', { outputFile: process.env.TEST_REPORT ?? 'coverage/browser.json' }]],
  },
});
