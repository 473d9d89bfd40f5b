import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Of the functions that unit tests import.
    env: { STACK_NAME: 'DataOutService-test' },
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Two cores: more workers only fight over them.
    maxWorkers: 2,
    reporters: ['default', ['json', { outputFile: process.env['TEST_REPORT'] ?? 'coverage/test-results.json' }]],
    coverage: {
      provider: 'istanbul',
      include: ['lib/**/*.ts', 'lambdas/**/*.ts', 'bin/**/*.ts'],
      reporter: ['text-summary', 'json-summary'],
      // Percent; two below what a whole run measured: 94 and 86.
      thresholds: { lines: 92, branches: 84 },
    },
  },
});
