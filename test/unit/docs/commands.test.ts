import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Block, blocksOf, pages, readPage } from '../../helpers/pages.ts';

const root = join(import.meta.dirname, '../../..');
const blocks = pages.flatMap((page) => blocksOf(page));
const commands = blocks.filter(({ language }) => language === 'sh' || language === 'powershell');

/**
 * What is wrong with how a block of commands says who runs it; `undefined` if nothing is. The line before its fence is
 * `<!-- run by FILE -->` (with `: NAME` where the file asks for it by name), `<!-- needs AWS -->`, `<!-- needs Windows -->` for
 * PowerShell, or `<!-- needs the platform -->` for the platform that hosts packages, or `<!-- needs crypt4gh-agent -->` for
 * the agent of htslib's plug-in, which refuses to run as root.
 */
function problemOf({ page, language, comment, text }: Block): string | undefined {
  if (comment === 'needs AWS') return /\b(aws|cdk|preflight)\b/.test(text) ? undefined : 'needs no AWS';
  if (language === 'powershell' || comment === 'needs Windows') {
    return language === 'powershell' && comment === 'needs Windows' ? undefined : 'is not PowerShell for Windows';
  }
  if (comment === 'needs the platform' || comment === 'needs crypt4gh-agent') return undefined;
  const [, runner] = /^run by ([^\s:]+)(?:: .+)?$/.exec(comment ?? '') ?? [];
  if (runner === undefined) return 'does not say who runs it';
  if (!existsSync(join(root, runner))) return `${runner} is missing`;
  const source = readFileSync(join(root, runner), 'utf8');
  const missing = commandsOf(text).filter((command) => !source.includes(command));
  return source.includes(page) || missing.length === 0 ? undefined : `${runner} has neither the page nor ${missing}`;
}

/** Single commands of lines without continuation. */
function commandsOf(text: string): readonly string[] {
  return text.split('\n').flatMap((line) => {
    const command = line.replace(/\s+#.*$/, '').trim();
    return command === '' ? [] : command.split(' && ');
  });
}

describe('blocks of commands', () => {
  test.each(commands.map((block) => [`${block.page}, ${block.section}`, block] as const))(
    '%s: says who runs it',
    (_, block) => {
      expect(problemOf(block)).toBeUndefined();
    },
  );
});

test('every script that a page names is in package.json', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object };
  const named = pages.flatMap((page) =>
    [...readPage(page).matchAll(/\bnpm run ([a-z][a-z:]*)/g)].map(([, name]) => name),
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((name) => !Object.hasOwn(scripts, name ?? ''))).toEqual([]);
});
