import { defineConfig } from 'vitest/config';
import { experimental } from '../../vitest.config.ts';

/** Suites that need PostgreSQL's own server on the machine; not part of `npm test`. See `.ci/postgres`. */
export default defineConfig({
  root: new URL('../..', import.meta.url).pathname,
  test: {
    include: ['test/postgres/**/*.postgres.ts'],
    experimental,
    setupFiles: 'test/helpers/set-up.ts',
    testTimeout: 60_000,
    hookTimeout: 120_000,
    reporters: ['default', ['json', { outputFile: process.env.TEST_REPORT ?? 'coverage/postgres.json' }]],
  },
});
