import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The buffers of whole containers make V8 collect all garbage every few calls, which takes a third of the time, unless they count
 * as the rest of the heap does.
 */
export const execArgv = ['--external-memory-accounted-in-global-limit', '--initial-old-space-size=512'];

/**
 * Node reads TypeScript itself, in two thirds of the time that Vite takes to bring the sources to each worker. What counts lines of
 * coverage is put in by Vite.
 */
const countsLines = process.argv.includes('--coverage');
export const experimental = { viteModuleRunner: countsLines, nodeLoader: false };

/** The whole service takes as long as a third of the others. Those follow by their last duration. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isWhole = ({ moduleId }: TestSpecification) => moduleId.includes('/test/e2e/');
    const sorted = await super.sort(files);
    return [...sorted.filter(isWhole), ...sorted.filter((file) => !isWhole(file))];
  }
}

// Workers, and processes that tests start, compile the same sources again and again.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url));

export default defineConfig({
  test: {
    env: {
      // Of the functions that unit tests import.
      STACK_NAME: 'DataOutService-test',
      // The CDK's own validation takes two thirds of a synth. `npm run synth` has it, and test/resilience/security-rules.resilience.ts.
      CDK_VALIDATION: 'false',
      // What is remembered runs no lines.
      ...(countsLines && { COUNTS_LINES: '1' }),
    },
    include: ['test/{unit,property,conformance,infra,e2e}/**/*.test.ts'],
    // The files of a worker share its modules, an engine (`Service.shared`) and a database (`TestDatabase.shared`).
    isolate: false,
    experimental,
    sequence: { sequencer: LongestFirst },
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
  },
});
