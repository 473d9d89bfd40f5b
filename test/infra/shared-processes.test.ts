import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { alone } from '../../vitest.config.ts';

/** What would be left behind for the next file of the same process. */
const leftBehind = /^\s*vi\.(mock|doMock|stubGlobal|stubEnv|resetModules)\(|process\.(chdir|umask)\(/m;

test('a file that changes its whole process has its own', () => {
  const exempt = new Set(alone.flatMap((pattern) => globSync(pattern)));
  expect(exempt.size).toBeGreaterThan(5);
  const shared = globSync('test/{unit,property,conformance,infra,e2e}/**/*.test.ts').filter(
    (file) => !exempt.has(file),
  );
  expect(shared.length).toBeGreaterThan(100);
  expect(shared.filter((file) => leftBehind.test(readFileSync(file, 'utf8')))).toEqual([]);
});
