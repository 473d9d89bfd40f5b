import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { documentedExports, referencePage, referencePath } from '../../../bin/reference.ts';

describe('the reference page', () => {
  test('is what the docstrings say: run `npm run docs` after changing one', async () => {
    expect(readFileSync(referencePath, 'utf8')).toBe(await referencePage());
  });

  test('has words for every name, and the section of a standard for all that implements one', async () => {
    const all = [...(await documentedExports()).values()].flat();
    expect(all.filter(({ comment }) => comment === '').map(({ name }) => name)).toEqual([]);
    // What is about memory and types of this library, not about the format.
    const plumbing = ['bytesSource', 'fileSource', 'Crypt4ghError'];
    const citing = /§|RFC \d|FIPS \d|key format|\{@link (encrypt|decrypt)\}/;
    const silent = all.filter(({ kind, comment }) => /function|class/.test(kind) && !citing.test(comment));
    expect(silent.map(({ name }) => name).filter((name) => !plumbing.includes(name))).toEqual([]);
  });
});
