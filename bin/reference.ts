#!/usr/bin/env node
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildLibrary } from './build.ts';

/** Where the page stands in this tree. */
export const referencePath = join(import.meta.dirname, '../docs/reference/crypt4gh.md');

/** What the page is divided into, and the files whose exports each part has. */
const sections: readonly (readonly [title: string, files: readonly string[]])[] = [
  ['Whole containers', ['body/container', 'body/streams', 'threads/files', 'threads/segment-workers']],
  ['Random access', ['body/reader', 'source', 'body/rearrange', 'body/rearrangement']],
  [
    'Headers',
    ['encrypt-header', 'open-header', 'reencrypt', 'add-recipients', 'header', 'payloads'].map(
      (file) => `header/${file}`,
    ),
  ],
  ['Bodies', ['body/segments', 'header/edit-list']],
  ['Sizes and positions', ['sizes', 'body/positions']],
  ['Keys', ['keys/public-key', 'keys/private-key', 'keys/x25519', 'keys/kdf', 'bytes']],
  ['Errors', ['errors']],
];

/** One exported name with its docstring. */
export interface Documented {
  readonly name: string;
  readonly kind: string;
  /** Text and tags, without the comment signs. */
  readonly comment: string;
  /** As the compiler writes it in declarations; overloads together. */
  readonly declaration: string;
}

/**
 * The exports of a declaration file, from the compiler's own layout of it: a statement begins at the line's start. That of
 * a class or interface ends at a brace there; a brace of a type may be followed by the rest of a union, so all others end
 * at a semicolon, which is neither a member's nor a comment's.
 */
function parseDeclarations(text: string): Documented[] {
  const found = new Map<string, Documented>();
  const statement =
    /(?:^\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)?^(export (?:declare )?(?:(?:abstract )?(?:class|interface) [\s\S]*?(?<=^})|(?:function|const|type) [\s\S]*?(?<=^(?! {4}| \*).*;)))$/gm;
  for (const [, comment = '', declaration = ''] of text.matchAll(statement)) {
    const [, kind = '', name = ''] = /(function|class|interface|const|type) (\w+)/.exec(declaration) ?? [];
    const overloaded = found.get(name);
    found.set(name, {
      name,
      kind,
      comment: overloaded?.comment ?? comment.replaceAll(/^ *\* ?/gm, '').trim(),
      declaration: overloaded === undefined ? declaration : `${overloaded.declaration}\n${declaration}`,
    });
  }
  return [...found.values()];
}

/** Every name that the library exports, by section. @throws Error when one is in no section. */
export async function documentedExports(): Promise<Map<string, Documented[]>> {
  const folder = await mkdtemp(join(tmpdir(), 'data-out-reference-'));
  try {
    await buildLibrary(folder);
    const declarations = (file: string) => readFile(join(folder, `${file}.d.ts`), 'utf8');
    const exported = exportedNames(await declarations('index'));
    const documented = new Map<string, Documented[]>();
    for (const [title, files] of sections) {
      const all = (await Promise.all(files.map(declarations))).map(parseDeclarations);
      const names = all.flatMap((list, index) => list.filter(({ name }) => isExported(exported, files[index], name)));
      documented.set(title, names);
    }
    const missing = new Set([...exported.values()].flatMap((names) => [...names]));
    for (const { name } of [...documented.values()].flat()) missing.delete(name);
    missing.delete('*');
    if (missing.size > 0) throw new Error(`these exports are in no section or have no declaration: ${[...missing]}`);
    return documented;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Names by the file they come from; `*` for all. */
function exportedNames(index: string): Map<string, Set<string>> {
  const statements = index.matchAll(/^export (?:type )?(?:\{([^}]*)\}|\*) from '\.\/([\w/-]+)\.js';$/gm);
  return new Map(
    [...statements].map(([, list = '*', file = '']) => {
      const names = list.split(',').map((part) => part.replace(/\btype\b/, '').trim());
      return [file, new Set(names.filter((name) => name !== ''))];
    }),
  );
}

function isExported(exported: ReadonlyMap<string, ReadonlySet<string>>, file: string | undefined, name: string) {
  const names = exported.get(file ?? '');
  return names?.has(name) === true || names?.has('*') === true;
}

/** The page, from the docstrings. */
export async function referencePage(): Promise<string> {
  const parts = [introduction];
  for (const [title, documented] of await documentedExports()) {
    parts.push(`## ${title}`, ...documented.map(renderExport));
  }
  return `${parts.join('\n\n')}\n`;
}

const introduction = `# Reference: data-out/crypt4gh

Every name that the package exports. Recipes, the format and the error table are in [Crypt4GH](../crypt4gh.md). "Crypt4GH § n"
is a section of the GA4GH File Encryption Standard, version 1. Made from the docstrings by \`npm run docs\`: do not edit.`;

function renderExport({ name, comment, declaration }: Documented): string {
  const [text = '', ...tags] = comment.split(/(?:^|\s)@(?=(?:param|returns|throws)\b)/);
  const items = tags.map((tag) => renderTag(oneLine(tag)));
  const body = text
    .trim()
    .split(/\n\n+/)
    .map(oneLine)
    .filter((paragraph) => paragraph !== '');
  const blocks = [`### ${name}`, ...body.map(linked), `\`\`\`ts\n${bare(declaration)}\n\`\`\``];
  return [...blocks, ...(items.length > 0 ? [items.join('\n')] : [])].join('\n\n');
}

function renderTag(tag: string): string {
  const [, kind = '', rest = ''] = /^(\w+) ?(.*)$/.exec(tag) ?? [];
  if (kind === 'param') {
    const [, name = '', text = ''] = /^(\S+) ?(.*)$/.exec(rest) ?? [];
    return `- \`${name}\`: ${linked(text)}`;
  }
  return kind === 'returns' ? `- Returns ${linked(rest)}` : `- Throws ${linked(rest)}`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

function linked(text: string): string {
  return text.replaceAll(/\{@link (\w+)\}/g, (_, name: string) => `[\`${name}\`](#${name.toLowerCase()})`);
}

/** The declaration as a user would write it. */
function bare(declaration: string): string {
  return declaration.replaceAll(/^export (declare )?/gm, '').replaceAll('    #private;\n', '');
}

if (import.meta.main) await writeFile(referencePath, await referencePage());
