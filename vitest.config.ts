import { defineConfig } from 'vitest/config';

const common = { testTimeout: 60_000, hookTimeout: 120_000 } as const;

export default defineConfig({
  test: {
    // Two cores: more workers only fight over them.
    maxWorkers: 2,
    reporters: ['default', ['json', { outputFile: process.env['TEST_REPORT'] ?? 'coverage/test-results.json' }]],
    coverage: {
      provider: 'istanbul',
      include: ['lib/**/*.ts', 'lambdas/**/*.ts', 'bin/**/*.ts'],
      reporter: ['text-summary', 'json-summary'],
    },
    projects: [
      {
        // One process for many files: to start one for each takes a third of the time.
        test: {
          ...common,
          name: 'parts',
          include: ['test/{unit,property,conformance,infra}/**/*.test.ts'],
          isolate: false,
        },
      },
      { test: { ...common, name: 'whole', include: ['test/e2e/**/*.test.ts'] } },
    ],
  },
});
