import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { allGrants } from '../helpers/function-roles.ts';
import { readRecordings, recordingVariable } from './recording.ts';
import { report, reportText } from './report.ts';
import { grantsTable } from './table.ts';

/**
 * `npm run grants`: runs the tests on shared engines and the rare paths, and says of each function what its role allows and what it
 * used. Ends with 1 if a grant was never needed, if a call was denied, or if the table of test/grants/grants.tsv is stale.
 *
 * `--after-tests`: `npm test` and `npm run test:resilience` have just run with DATA_OUT_GRANTS set to `coverage/grants`; only the rare
 * paths are run.
 * `--write`: write the table.
 */
const root = join(import.meta.dirname, '../..');
const { values: options } = parseArgs({ options: { 'after-tests': { type: 'boolean' }, write: { type: 'boolean' } } });
const folder = join(root, 'coverage/grants');

if (!options['after-tests']) {
  rmSync(folder, { recursive: true, force: true });
  runTests('--project', 'service');
  runTests('--config', 'test/resilience/vitest.config.ts', '--project', 'shared');
}
mkdirSync(folder, { recursive: true });
runTests('--config', 'test/grants/vitest.config.ts');

const { grants, deployment } = allGrants();
const found = report(grants, readRecordings(folder));
process.stdout.write(reportText(found));
const { judged, denied } = found;

const tablePath = join(root, 'test/grants/grants.tsv');
const origins = new Map(judged.map(({ statement, origins: by }) => [statement, by]));
const table = grantsTable(grants, deployment, ({ statement }) => origins.get(statement) ?? []);
if (options.write) writeFileSync(tablePath, table);
else if (readFileSync(tablePath, 'utf8') !== table)
  fail('The table of test/grants/grants.tsv is stale: run npm run grants -- --write');
if (judged.some(({ isNeeded }) => !isNeeded)) fail('Grants that no call needs: remove them, or run the path that does');
if (denied.length > 0) fail('Calls that their roles do not allow: grant them, or do not make them');

function runTests(...argv: string[]): void {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const env = { ...process.env, [recordingVariable]: folder, TEST_REPORT: join(root, 'coverage/grants-tests.json') };
  const { status } = spawnSync(process.execPath, [vitest, 'run', '--reporter', 'dot', ...argv], {
    ...{ cwd: root, env, stdio: 'inherit' },
  });
  if (status !== 0) process.exit(status ?? 1);
}

function fail(message: string): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}
