import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { execArgv, experimental } from '../../vitest.config.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What can differ in an executable: threads, pipes, signals, disks, HTTP, a terminal. */
const clientFiles = 'test/resilience/{client-{commands,disk,stop},set-up}.resilience.ts';
const hasExecutable = process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch);

/** The files of which `npm test` and the other projects make a part of the runs. */
const properties = globSync('test/{{property,unit,conformance}/**/*.test,resilience/*.resilience}.ts', {
  cwd: root,
}).filter((file) => readFileSync(`${root}/${file}`, 'utf8').includes('helpers/runs.ts'));

/** Faults at every step, restarts, hostile callers, the demonstration, long listings. Too long for `npm test`; `npm run test:resilience`, of which `.ci/run` calls two projects. */
export default defineConfig({
  root,
  test: {
    env: {
      NODE_COMPILE_CACHE: `${root}/node_modules/.cache/compiled`,
      // As in `npm test`.
      CDK_VALIDATION: 'false',
    },
    execArgv,
    experimental,
    setupFiles: 'test/helpers/set-up.ts',
    // Other steps of `.ci/run` share the machine.
    testTimeout: 180_000,
    hookTimeout: 240_000,
    maxWorkers: 2,
    reporters: ['default', ['json', { outputFile: process.env.TEST_REPORT ?? 'coverage/resilience.json' }]],
    projects: [
      {
        extends: true,
        test: {
          name: 'resilience',
          include: ['test/resilience/*.resilience.ts'],
          // `npm run grants` judges what the functions do with the default settings and whole roles.
          env: { DATA_OUT_GRANTS: '' },
        },
      },
      // The files of a worker share one engine (`Service.shared`).
      {
        extends: true,
        test: { name: 'shared', include: ['test/resilience/shared/*.resilience.ts'], isolate: false },
      },
      // All runs of what has been run in part: each night.
      {
        extends: true,
        test: { name: 'properties', include: properties, isolate: false, env: { ALL_RUNS: '1' } },
      },
      // The same client again, without Node.js: each night.
      ...(hasExecutable
        ? [
            {
              extends: true as const,
              test: { name: 'executable', include: [clientFiles], globalSetup: 'test/resilience/build-executable.ts' },
            },
          ]
        : []),
    ],
  },
});
