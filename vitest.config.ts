import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** Files that mock modules or change what a whole process has: each runs in its own process. */
export const alone = [
  'test/unit/crypt4gh/header/open-header.test.ts',
  'test/unit/crypt4gh/keys/kdf.test.ts',
  'test/unit/lambdas/**/*.test.ts',
  'test/unit/ops/target.test.ts',
  'test/unit/ops/retirement/api-client.test.ts',
  'test/unit/terminal/git-warning.test.ts',
];

/**
 * The buffers of whole containers make V8 collect all garbage every few calls, which takes a third of the time, unless they count
 * as the rest of the heap does.
 */
export const execArgv = ['--external-memory-accounted-in-global-limit', '--initial-old-space-size=512'];

/**
 * Node reads TypeScript itself, in two thirds of the time that Vite takes to bring the sources to each worker. What counts lines of
 * coverage is put in by Vite, and modules are mocked by it.
 */
const countsLines = process.argv.includes('--coverage');
export const experimental = { viteModuleRunner: countsLines, nodeLoader: false };

export default defineConfig({
  test: {
    env: {
      // Of the functions that unit tests import.
      STACK_NAME: 'DataOutService-test',
      // The CDK's own validation takes two thirds of a synth. `npm run synth` has it, and test/resilience/security-rules.resilience.ts.
      CDK_VALIDATION: 'false',
      // What is remembered runs no lines.
      ...(countsLines && { COUNTS_LINES: '1' }),
      // Processes that tests start compile the same sources again and again.
      NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url)),
    },
    globalSetup: 'test/helpers/run-folder.ts',
    setupFiles: 'test/helpers/set-up.ts',
    testTimeout: 60_000,
    hookTimeout: 120_000,
    execArgv,
    // Two cores: the third worker uses what the others leave while they wait.
    maxWorkers: 3,
    reporters: ['default', ['json', { outputFile: process.env.TEST_REPORT ?? 'coverage/test-results.json' }]],
    coverage: {
      provider: 'custom',
      customProviderModule: fileURLToPath(
        new URL('.ci/coverage/node_modules/@vitest/coverage-istanbul/dist/index.js', import.meta.url),
      ),
      include: ['lib/**/*.ts', 'lambdas/**/*.ts', 'bin/**/*.ts'],
      // They run in a browser alone, where `.ci/browser` tests them.
      exclude: ['lib/client/admin-page/{dom,export-details,exports-table,main,order-form}.ts'],
      reporter: ['text-summary', 'json-summary'],
      // Percent; two below what a whole run measured: 90.9 and 83.6. The extra suites come on top.
      thresholds: { lines: 89, branches: 82 },
    },
    projects: [
      {
        extends: true,
        test: {
          name: 'parts',
          experimental,
          include: ['test/{unit,property,conformance,infra}/**/*.test.ts'],
          exclude: alone,
          isolate: false,
        },
      },
      { extends: true, test: { name: 'alone', include: alone } },
      // The files of a worker share one engine (`Service.shared`).
      { extends: true, test: { name: 'service', experimental, include: ['test/e2e/**/*.test.ts'], isolate: false } },
    ],
  },
});
