import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** What would be left behind for the next file of the same process, and what takes it back. */
const leftBehind = [
  [/^\s*vi\.(mock|doMock|resetModules)\(|process\.(chdir|umask)\(/m],
  [/^\s*vi\.stubEnv\(/m, /vi\.unstubAllEnvs\(/],
  [/^\s*vi\.stubGlobal\(/m, /vi\.unstubAllGlobals\(/],
] as const;

test('no test file changes the process that it shares with others', () => {
  const files = globSync('test/{unit,property,conformance,infra,e2e}/**/*.{test,e2e}.ts');
  expect(files.length).toBeGreaterThan(100);
  const changes = (file: string) => {
    const text = readFileSync(file, 'utf8');
    return leftBehind.some(([change, back]) => change.test(text) && !back?.test(text));
  };
  expect(files.filter(changes)).toEqual([]);
});
