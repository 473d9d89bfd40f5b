import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/**
 * API Gateway puts the reason of a refusal into JSON without escaping it. So every sentence is a literal of printable
 * ASCII without quotation mark and backslash, and holds no part of a request.
 */
const folder = 'lib/service';
/** The variables that a sentence may have: names of headers, and the texts of `lib/visas/errors.ts`. */
const variables = new Set(['name', 'error.code', 'error.message']);

const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => [join(folder, file), readFileSync(join(folder, file), 'utf8')] as const);

test('every reason for a 401 is a sentence that JSON does not escape', () => {
  let sentences = 0;
  for (const [file, source] of sources) {
    for (const [, argument = ''] of source.matchAll(
      /new DataOutError\(\s*'unauthenticated',\s*([\s\S]*?)\s*,?\s*\)(?=[;\s])/g,
    )) {
      const [, quote, text = ''] = /^(['"`])([\s\S]*)\1$/.exec(argument) ?? [];
      expect(quote, `${file}: ${argument} is not a literal`).toBeDefined();
      const plain = text.replaceAll(/\$\{([^}]+)\}/g, (_, variable: string) => {
        expect(variables, `${file}: ${argument}`).toContain(variable);
        return '';
      });
      expect(plain, file).toMatch(/^[\x20-\x7e]+$/);
      expect(plain, file).not.toMatch(/["\\]/);
      sentences += 1;
    }
  }
  const made = sources.reduce((sum, [, source]) => sum + source.split("'unauthenticated',").length - 1, 0);
  expect(sentences).toBe(made);
  expect(sentences).toBeGreaterThanOrEqual(16);
});

test('so is what is said of visas', () => {
  const source = readFileSync('lib/contract/reasons.ts', 'utf8');
  const explanations = [...source.matchAll(/^ {2}([a-z_]+): '(.*)',$/gm)];
  expect(explanations.length).toBeGreaterThan(20);
  for (const [, code, text] of explanations) expect(`${code} ${text}`).toMatch(/^[\x20-\x7e]+$/);
  for (const [, , text] of explanations) expect(text).not.toMatch(/["\\]/);
});
