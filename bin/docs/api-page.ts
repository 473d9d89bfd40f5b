import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const docs = join(import.meta.dirname, '../../docs');
/** Where the page stands in this tree. */
export const apiPagePath = join(docs, 'api.md');

/** An OpenAPI document without references, as far as the tables need it. */
interface Document {
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}
type PathItem = { readonly parameters?: readonly Parameter[] } & { readonly [method: string]: Operation };
interface Operation {
  readonly parameters?: readonly Parameter[];
}
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description?: string;
  readonly schema: Schema;
}
interface Schema {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  /** A code that another table lists, or null. */
  readonly anyOf?: readonly Schema[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly default?: unknown;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
}

type Row = Readonly<Record<string, string>>;

/** A table of the page, between `<!-- openapi: <document> <kind> <of what> -->` and `<!-- end -->`. */
const table = /(<!-- openapi: (\S+) (\S+) (.+?) -->\n)[\s\S]*?(<!-- end -->)/g;

/**
 * The page with its tables made again from `docs/openapi/`. All other text stays as it is.
 *
 * @throws Error when a table is about something that its document lacks
 */
export function apiPage(page: string): string {
  return page.replace(table, (_, begin: string, name: string, kind: string, of: string, end: string) => {
    const rows = rowsOf(readDocument(name), kind, of);
    const titles = Object.keys(rows[0] ?? {});
    const lines = [titles, titles.map(() => '---'), ...rows.map((row) => Object.values(row))];
    return `${begin}${lines.map((cells) => `| ${cells.join(' | ')} |\n`).join('')}${end}`;
  });
}

function readDocument(name: string): Document {
  const document: unknown = parse(readFileSync(join(docs, 'openapi', `${name}.yaml`), 'utf8'));
  return withoutReferences(document, document) as Document;
}

/** `value` with each `$ref` in it replaced by the part of `document` that it names. */
function withoutReferences(value: unknown, document: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => withoutReferences(one, document));
  if ('$ref' in value) {
    const names = String(value.$ref).split('/').slice(1);
    const named = names.reduce((part, name) => (part as Record<string, unknown>)[name], document);
    return withoutReferences(named, document);
  }
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withoutReferences(one, document)]));
}

/** Cells by the title of their column. Parameters that differ in nothing but their names share a row. */
function rowsOf({ paths, components }: Document, kind: string, of: string): readonly Row[] {
  if (kind === 'fields') {
    const properties = components.schemas[of]?.properties ?? unknown(of);
    return Object.entries(properties).map(([field, schema]) => ({ field: code(field), ...described(schema) }));
  }
  const [method = '', path = ''] = of.split(' ');
  const { parameters = [], [method.toLowerCase()]: operation = unknown(of) } = paths[path] ?? unknown(of);
  if (kind !== 'parameters') return unknown(kind);
  const rows = new Map<string, Row>();
  for (const { name, in: place, schema, description } of [...parameters, ...(operation.parameters ?? [])]) {
    if (place === 'path') continue;
    const row = described({ ...schema, ...(description !== undefined && { description }) });
    const key = JSON.stringify(row);
    const alike = rows.get(key)?.parameter;
    rows.set(key, { parameter: alike === undefined ? code(name) : `${alike}, ${code(name)}`, ...row });
  }
  return [...rows.values()];
}

function described({ anyOf, type = anyOf && ['string', 'null'], format, const: only, ...schema }: Schema): Row {
  const { enum: values, minLength, maxLength } = schema;
  const literals = only === undefined ? values : [only];
  const length = maxLength === undefined ? '' : `, ${minLength ?? 0}–${maxLength.toLocaleString('en')} characters`;
  const usual = schema.default === undefined ? '' : ` Default: ${code(schema.default)}.`;
  return {
    value: literals?.map(code).join(', ') ?? `${[type].flat().join(' or ')}${format ? ` (${format})` : ''}${length}`,
    meaning: `${schema.description ?? ''}${usual}`,
  };
}

function code(value: unknown): string {
  return `\`${value}\``;
}

function unknown(name: string): never {
  throw new Error(`docs/api.md has a table of ${name}, which the OpenAPI document lacks`);
}

if (import.meta.main) writeFileSync(apiPagePath, apiPage(readFileSync(apiPagePath, 'utf8')));
