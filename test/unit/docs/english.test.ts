import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pages, proseOf, readPage } from '../../helpers/pages.ts';

/** Forms that read as translated, and better words. A space also stands for the end of a line. */
const forms = {
  '(go|goes|went|gone) on(?! (to|for|in|with|and) )': 'continue, resume',
  '(is|are|was|were) (not |already |still |all )?there(?! (is|are|an?|any|no) )': 'exists, is missing',
  '(?<!there )(is|are|was|were) no (?!longer|more|matter|other|such)[a-z]+': 'is not a',
  anew: 'again',
  'in place of': 'instead of, replaces',
  'by (itself|themselves)': 'automatically, alone, separately',
  '(request|receipt|value|option|newest|first|last) counts(?! (as|the|how))': 'wins, applies',
  'counts before': 'overrides',
  '(?<!\\.)too(?=[.,;:)])': 'also, before the verb',
  '(\\d+|bytes|calls) an? (second|minute|hour|day|month|file|line|page|request)': 'per',
  'requests an? (second|minute|hour|day)': 'per',
  "of (its|their|his|her|your|our|one's) own": 'its own, separate',
  '(alarm|metric|header|log|page|status|code|message|name|reply|receipt) tells': 'says, shows, fires',
  'looks? whether': 'check whether',
  'but for (the|an?|its|those|what)': 'except',
  'all the same(?=[.,;:])': 'anyway',
  '(what|which) (becomes|became) of': 'happens to',
  'any more(?=[.,;:)])': 'no longer',
  'in clear': 'unencrypted',
  'stands? (there|below|above|once|beside)': 'is',
  shall: 'must, should',
};

const root = join(import.meta.dirname, '../../..');
const checks = Object.entries(forms).map(([form, better]) => ({
  form: new RegExp(`\\b(?:${form})(?!\\w)`, 'gi'),
  better,
}));

/** Each bad form of a text, with its neighbours and the better words. Lines of a comment are joined. */
function found(text: string): readonly string[] {
  const joined = text.replaceAll(/\s*\n\s*(?:\*(?!\/)|\/\/|#)?\s*/g, ' ');
  return checks.flatMap(({ form, better }) =>
    [...joined.matchAll(form)].map(({ index, 0: { length } }) => {
      return `${joined.slice(Math.max(0, index - 30), index + length + 20)} → ${better}`;
    }),
  );
}

/** Sources have comments, help texts, messages and titles of tests. What others have written is not checked, and nor is this file. */
function sources(): readonly string[] {
  const isOurs = (name: string) =>
    /\.(ts|yaml)$/.test(name) && !/node_modules|^(vectors|cache)\/|english\.test\.ts$/.test(name);
  return ['lib', 'lambdas', 'bin', 'bench', 'test', '.ci', 'docs/openapi'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(isOurs)
      .map((name) => join(folder, name)),
  );
}

/** The pages beside test vectors come with them. */
const read = pages.filter((page) => !page.startsWith('test/vectors/'));

test('pages have none of these forms', () => {
  expect(read.flatMap((page) => found(proseOf(readPage(page))).map((fault) => `${page}: ${fault}`))).toEqual([]);
});

test('sources have none of these forms', () => {
  const faults = sources().flatMap((path) =>
    found(readFileSync(join(root, path), 'utf8')).map((fault) => `${path}: ${fault}`),
  );
  expect(faults).toEqual([]);
});

interface Style {
  /** Inside sentences, per 1,000 words: a verb says more. */
  readonly colons: number;
  /** Sentences of eight words or fewer, in percent: joined by because, so that, when or which, they say why. */
  readonly short: number;
  /** Sentences with two semicolons or more. */
  readonly chains: readonly string[];
}

const ceiling: Omit<Style, 'chains'> = { colons: 5, short: 12 };

const wordsOf = (text: string) => text.split(' ').filter((word) => /[\p{L}\p{N}]/u.test(word)).length;

/** Paragraphs and items of lists, each in one line: no tables, headings, pictures, comments or code. */
function paragraphsOf(text: string): readonly string[] {
  const lines = proseOf(text)
    .replaceAll(/<!--[\s\S]*?-->/g, '')
    .replaceAll('``', 'Code')
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('**', '')
    .split('\n')
    .map((line) => (/^(\s*\||#| {4,})/.test(line) ? '' : line));
  return lines
    .join('\n')
    .split(/\n\s*\n|\n(?=\s*(?:-|\d+\.) )/)
    .map((paragraph) =>
      paragraph
        .replaceAll(/\s+/g, ' ')
        .replace(/^ ?(-|\d+\.) /, '')
        .trim(),
    )
    .filter((paragraph) => paragraph !== '');
}

function styleOf(text: string): Style {
  const paragraphs = paragraphsOf(text);
  const sentences = paragraphs.flatMap((paragraph) => paragraph.split(/(?<=[.?!]["”)]?) (?=[A-Z"“(])/));
  const words = sentences.reduce((sum, sentence) => sum + wordsOf(sentence), 0);
  const colons = paragraphs.flatMap((paragraph) => paragraph.match(/:(?= )/g) ?? []).length;
  const short = sentences.filter((sentence) => wordsOf(sentence) <= 8).length;
  return {
    colons: words === 0 ? 0 : (1000 * colons) / words,
    short: sentences.length === 0 ? 0 : (100 * short) / sentences.length,
    chains: sentences.filter((sentence) => sentence.split(';').length > 2),
  };
}

test.each(read)('%s is in whole sentences', (page) => {
  const style = styleOf(readPage(page));
  expect(style.chains).toEqual([]);
  expect(style.colons).toBeLessThanOrEqual(ceiling.colons);
  expect(style.short).toBeLessThanOrEqual(ceiling.short);
});

test('there are at most 34,000 words on the pages, of which programs write a quarter, and 500 in the glossary', () => {
  const words = (text: string) => text.split(/\s+/).filter((word) => word !== '').length;
  const texts = read.map((page) => readPage(page));
  const generated = texts.flatMap((text) => text.match(/<!-- \w[^>]* -->\n(?:(?!<!--)[\s\S])*<!-- end -->/g) ?? []);
  expect(words(texts.join('\n'))).toBeLessThanOrEqual(34_000);
  expect(generated.length).toBeGreaterThan(10);
  expect(words(generated.join('\n'))).toBeLessThanOrEqual(34_000 / 4);
  expect(words(readPage('docs/glossary.md'))).toBeLessThanOrEqual(500);
});
