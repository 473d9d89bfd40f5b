import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { synthInputs } from '../../lib/local/template/fresh-assembly.ts';
import { assembly } from '../helpers/assembly.ts';

const root = join(import.meta.dirname, '../..');
const isCovered = (path: string) => synthInputs(root).some((input) => path === input || path.startsWith(`${input}/`));

let metafiles: string;
beforeAll(async () => {
  metafiles = join(await assembly(), 'metafiles');
});

test('a change in any source of any bundle is noticed', () => {
  const sources = readdirSync(metafiles).flatMap((name) => {
    const { inputs } = JSON.parse(readFileSync(join(metafiles, name), 'utf8')) as { inputs: Record<string, unknown> };
    return Object.keys(inputs).filter((source) => !source.startsWith('node_modules/'));
  });
  expect(sources.length).toBeGreaterThan(100);
  expect([...new Set(sources)].filter((source) => !isCovered(source))).toEqual([]);
});

test('a change in any source of the stacks is noticed', () => {
  const seen = new Set<string>();
  const visit = (path: string) => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const [, target = ''] of readFileSync(join(root, path), 'utf8').matchAll(/\bfrom '(\.[^']+)'/g)) {
      visit(posix.join(posix.dirname(path), target));
    }
  };
  for (const entry of ['bin/admin-page.ts', 'bin/app.ts', 'bin/openapi.ts']) visit(entry);
  expect(seen.size).toBeGreaterThan(20);
  expect([...seen].filter((path) => !isCovered(path))).toEqual([]);
});
