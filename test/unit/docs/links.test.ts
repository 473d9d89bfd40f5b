import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { expect, test } from 'vitest';
import { packagePages } from '../../../bin/build/package.ts';
import { pages, proseOf, readPage } from '../../helpers/pages.ts';

const root = join(import.meta.dirname, '../../..');

/** Anchors of a page, made from its headings as GitHub makes them. */
function anchorsOf(text: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  const prose = text.replaceAll(/^( *)```[\s\S]*?^\1```$/gm, '');
  for (const [, heading = ''] of prose.matchAll(/^#+ (.*)$/gm)) {
    const shown = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
    const slug = shown
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
    let anchor = slug;
    for (let copy = 1; anchors.has(anchor); copy += 1) anchor = `${slug}-${copy}`;
    anchors.add(anchor);
  }
  return anchors;
}

/** Links of a page that lead nowhere. */
function broken(page: string, text = readPage(page)): readonly string[] {
  return [...proseOf(text).matchAll(/\]\(([^)\s]*)\)/g)].flatMap(([, target = '']) => {
    if (/^[a-z]+:/.test(target)) {
      return URL.canParse(target) && /^(https|mailto):/.test(target) ? [] : [`${target}: not an https address`];
    }
    const [path = '', anchor] = target.split('#');
    const file = path === '' ? page : posix.join(posix.dirname(page), path);
    if (file.startsWith('..') || !existsSync(join(root, file))) return [`${target}: no such file`];
    if (anchor === undefined) return [];
    const linked = file === page ? text : file.endsWith('.md') ? readPage(file) : '';
    return anchorsOf(linked).has(anchor) ? [] : [`${target}: no such heading`];
  });
}

test.each(pages)('%s: every link leads somewhere', (page) => {
  expect(broken(page)).toEqual([]);
});

test('pages that the package brings link only to each other', () => {
  for (const page of packagePages) {
    const targets = [...proseOf(readPage(page)).matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(([, target = '']) => target);
    const files = targets.filter((target) => !target.startsWith('https:'));
    const strays = files
      .map((file) => posix.join(posix.dirname(page), file))
      .filter((file) => !packagePages.includes(file));
    expect.soft(strays, page).toEqual([]);
  }
});

test('pages and sources name only existing files', () => {
  const sources = ['lib', 'lambdas', 'bin', 'bench', 'test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(folder, name)),
  );
  const onPages = pages.flatMap((page) =>
    [...readPage(page).matchAll(/`((?:lib|lambdas|test|config|docs|bin|\.ci)\/[\w./-]+)`/g)].map(([, path]) => path),
  );
  const inSources = sources.flatMap((path) =>
    [...readFileSync(join(root, path), 'utf8').matchAll(/\bdocs\/[\w/-]+\.(?:md|yaml)\b/g)].map(([name]) => name),
  );
  expect(inSources.length).toBeGreaterThan(10);
  const named = new Set([...onPages, ...inSources]);
  // Its scripts make it.
  named.delete('.ci/cache');
  expect([...named].filter((path) => path && !existsSync(join(root, path)))).toEqual([]);
});
