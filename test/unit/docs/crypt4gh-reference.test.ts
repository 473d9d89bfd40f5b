import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { documentedExports, referencePage, referencePath } from '../../../bin/reference.ts';

const library = new URL('../../../lib/crypt4gh/', import.meta.url);
const page = readFileSync(referencePath, 'utf8');

/** The declarations on the page by name, without comments. */
const shown = new Map(
  page.split(/^### /m).flatMap((part) => {
    const [, declaration] = /^```ts\n([\s\S]*?)^```$/m.exec(part) ?? [];
    const code = declaration?.replaceAll(/\/\*\*[\s\S]*?\*\//g, '').trim();
    return code === undefined ? [] : [[part.split('\n', 1)[0]!, code] as const];
  }),
);

let exported: Awaited<ReturnType<typeof documentedExports>>;
beforeAll(async () => {
  exported = await documentedExports();
});

describe('the reference page', () => {
  test('is what the docstrings say: run `npm run docs` after changing one', () => {
    expect(page).toBe(referencePage(exported));
  });

  test('has words for every name, and the section of a standard for all that implements one', () => {
    const all = [...exported.values()].flat();
    expect(all.filter(({ comment }) => comment === '').map(({ name }) => name)).toEqual([]);
    const citing = /§|RFC \d|FIPS \d|key format|\{@link (encrypt|decrypt)\}/;
    const silent = all.filter(({ comment }) => !citing.test(comment)).map(({ name }) => name);
    expect(silent.sort()).toEqual(Object.keys(plumbing).sort());
  });

  test('shows every type of the library that a declaration on it mentions', () => {
    const sources = readdirSync(library, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
    const declared = sources.flatMap((name) => {
      const text = readFileSync(new URL(name, library), 'utf8');
      return [...text.matchAll(/^(?:export )?(?:abstract )?(?:interface|type|class) (\w+)/gm)].map(([, type]) => type!);
    });
    const mentioned = new Set([...shown.values()].flatMap((code) => code.match(/\b[A-Z]\w+/g) ?? []));
    expect(declared).toContain('Payload');
    expect(declared.filter((type) => mentioned.has(type) && !shown.has(type))).toEqual([]);
  });

  test('shows declarations whole: a body to its last brace, all others to their semicolon', () => {
    for (const [name, code] of shown) {
      expect.soft(code, name).toMatch(/^(abstract )?(class|interface)\b/.test(code) ? /\n}$/ : /;$/);
      expect.soft(code.split('{').length, name).toBe(code.split('}').length);
    }
    expect(shown.get('Payload')).toContain("'edit-list'");
  });
});

/** Names that implement no part of a standard, and what they are instead. */
const plumbing = {
  Crypt4ghError: 'base class of errors',
  Crypt4ghErrorCode: 'all codes together',
  RandomAccessSource: 'where bytes come from',
  fileSource: 'where bytes come from',
  bytesSource: 'where bytes come from',
  ByteSource: 'where bytes come from',
  ByteStreamPair: 'two ends of a Web stream',
};
