#!/usr/bin/env node
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { isVariableDeclaration, type Node } from 'typescript/unstable/ast';
import { API, SymbolFlags } from 'typescript/unstable/sync';
import { buildLibrary } from './build/package.ts';

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
  ['Keys', ['keys/public-key', 'keys/private-key', 'keys/private-key-form', 'keys/x25519', 'keys/kdf', 'bytes']],
  ['Errors', ['errors']],
];

/** One exported name with its docstring. */
export interface Documented {
  readonly name: string;
  /** Text and tags, without the comment signs. */
  readonly comment: string;
  /** As the compiler writes it in declarations; overloads together. */
  readonly declaration: string;
}

/** Every name that the library exports, by section. @throws Error when one is in no section */
export async function documentedExports(): Promise<Map<string, Documented[]>> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'data-out-reference-')));
  try {
    await buildLibrary(folder);
    const compilerOptions = { module: 'nodenext', target: 'es2024' };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['index.d.ts'] }));
    const exported = readExports(folder);
    const documented = sections.map(
      ([title, files]) => [title, files.flatMap((file) => exported.get(file) ?? [])] as const,
    );
    const listed = new Set(sections.flatMap(([, files]) => files));
    const missing = [...exported.keys()].filter((file) => !listed.has(file));
    if (missing.length > 0) throw new Error(`these files have exports and are in no section: ${missing}`);
    return new Map(documented);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/**
 * The exports of the library in `folder` by the file that declares them, in the order of that file. The compiler's own
 * interface is marked unstable. It is used here alone, and the version of the compiler is exact.
 */
function readExports(folder: string): Map<string, Documented[]> {
  const api = new API();
  try {
    const config = join(folder, 'tsconfig.json');
    const project = api.updateSnapshot({ openProjects: [config] }).getProject(config);
    const index = project?.program.getSourceFile(join(folder, 'index.d.ts'));
    const library = index && project?.checker.getSymbolAtLocation(index);
    if (!project || !library) throw new Error('the compiler finds no declarations of the library');
    const { checker } = project;
    const found = checker.getExportsOfModule(library).map((symbol) => {
      const declared = symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      const nodes = declared.declarations.flatMap((each) => each.resolve(project) ?? []).map(statementOf);
      const [first] = nodes;
      if (!first) throw new Error(`the compiler finds no declaration of ${symbol.name}`);
      const declaration = nodes.map((node) => node.getText()).join('\n');
      const file = relative(folder, first.getSourceFile().fileName).replace(/\.d\.ts$/, '');
      return { file, position: first.pos, name: symbol.name, comment: commentOf(first), declaration };
    });
    return Map.groupBy(
      found.toSorted((a, b) => a.position - b.position),
      ({ file }) => file,
    );
  } finally {
    api.close();
  }
}

/** The whole statement: that of a constant is two levels above the symbol's own node. */
function statementOf(node: Node): Node {
  return isVariableDeclaration(node) ? node.parent.parent : node;
}

/** The docstring without the comment signs. */
function commentOf(node: Node): string {
  const comment = node.jsDoc?.at(-1)?.getText() ?? '/***/';
  return comment
    .slice('/**'.length, -'*/'.length)
    .replaceAll(/^ *\* ?/gm, '')
    .trim();
}

/** The page, from {@link documentedExports}. */
export function referencePage(exports: ReadonlyMap<string, readonly Documented[]>): string {
  const parts = [introduction];
  for (const [title, documented] of exports) {
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

if (import.meta.main) await writeFile(referencePath, referencePage(await documentedExports()));
