import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** Folders of others. */
const foreign = /(^|\/)(node_modules|cache)\//;

/** Every Markdown page of the repository, as its path from the root. */
export const pages: readonly string[] = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...['.ci', 'bench', 'docs', 'lib', 'private', 'test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map((name) => posix.join(folder, name.replaceAll('\\', '/')))
      .filter((name) => name.endsWith('.md') && !foreign.test(name)),
  ),
];

export function readPage(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** A fenced block of a page. */
export interface Block {
  readonly page: string;
  /** Number of the line with its first fence. */
  readonly line: number;
  /** The last heading before it. */
  readonly section: string;
  /** The first word after the fence; empty without one. */
  readonly language: string;
  /** The HTML comment on the line before the fence, without its marks. */
  readonly comment: string | undefined;
  /** Without the indentation of the fence. */
  readonly text: string;
}

/** The fenced blocks of a page, in order. @param text default: the page as it is on the disk */
export function blocksOf(page: string, text = readPage(page)): readonly Block[] {
  const blocks: Block[] = [];
  const lines = text.split('\n');
  let section = '';
  for (let at = 0; at < lines.length; at += 1) {
    section = /^#+ (.*)$/.exec(lines[at] ?? '')?.[1] ?? section;
    const [, indent, language = ''] = /^( *)```(\S*)/.exec(lines[at] ?? '') ?? [];
    if (indent === undefined) continue;
    const end = lines.indexOf(`${indent}\`\`\``, at + 1);
    if (end < 0) throw new Error(`${page}:${at + 1}: a block without an end`);
    const comment = /^ *<!-- (.*) -->$/.exec(lines[at - 1] ?? '')?.[1];
    const content = lines.slice(at + 1, end).map((line) => line.slice(indent.length));
    blocks.push({ page, line: at + 1, section, language, comment, text: `${content.join('\n')}\n` });
    at = end;
  }
  return blocks;
}

/** A page without its fenced blocks and without inline code: what is left is prose with links. */
export function proseOf(text: string): string {
  return text.replaceAll(/^( *)```[\s\S]*?^\1```$/gm, '').replaceAll(/`[^`\n]*`/g, '``');
}
