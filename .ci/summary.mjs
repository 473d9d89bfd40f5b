// Adds up vitest's JSON reports and prints one closing line: "N passed, N failed".
import { existsSync, readFileSync } from 'node:fs';

let passed = 0;
let failed = 0;
for (const report of process.argv.slice(2)) {
  if (!existsSync(report)) {
    process.stdout.write(`not run: there is no ${report}\n`);
    // A suite that did not run must not look like one that passed.
    if (process.env.CI) failed += 1;
    continue;
  }
  const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, 'utf8'));
  passed += numPassedTests;
  failed += numFailedTests;
}
process.stdout.write(`\n${passed} passed, ${failed} failed\n`);
process.exitCode = failed || !passed ? 1 : 0;
