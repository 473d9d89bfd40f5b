import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { withoutReferences } from '../../lib/common/json-references.ts';
import { markdownTable } from './table.ts';

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

/** A table of the page, between `<!-- openapi: <document> <kind> <of what> -->` and `<!-- end -->`. */
const table = /(<!-- openapi: (\S+) (\S+) (.+?) -->\n)[\s\S]*?(<!-- end -->)/g;

/**
 * The page with its tables made again from `docs/openapi/`. All other text stays as it is.
 * @throws Error when a table is about something that its document lacks
 */
export function apiPage(page: string): string {
  return page.replace(table, (_, begin: string, name: string, kind: string, of: string, end: string) => {
    const titles = [kind === 'fields' ? 'field' : 'parameter', 'value', 'meaning'];
    return `${begin}${markdownTable(titles, rowsOf(readDocument(name), kind, of))}${end}`;
  });
}

function readDocument(name: string): Document {
  const document: unknown = parse(readFileSync(join(docs, 'openapi', `${name}.yaml`), 'utf8'));
  return withoutReferences(document, document) as Document;
}

function rowsOf({ paths, components }: Document, kind: string, of: string): readonly (readonly string[])[] {
  if (kind === 'fields') {
    const properties = components.schemas[of]?.properties ?? unknown(of);
    return Object.entries(properties).map(([field, schema]) => [code(field), ...described(schema)]);
  }
  const [method = '', path = ''] = of.split(' ');
  const { parameters = [], [method.toLowerCase()]: operation = unknown(of) } = paths[path] ?? unknown(of);
  if (kind !== 'parameters') return unknown(kind);
  return [...parameters, ...(operation.parameters ?? [])]
    .filter((each) => each.in !== 'path')
    .map(({ name, schema, description = schema.description ?? '' }) => [
      code(name),
      ...described({ ...schema, description }),
    ]);
}

/** Value and meaning. */
function described({ anyOf, type = anyOf && ['string', 'null'], format, const: only, ...schema }: Schema) {
  const { enum: values, minLength, maxLength } = schema;
  const literals = only === undefined ? values : [only];
  const length = maxLength === undefined ? '' : `, ${minLength ?? 0}–${maxLength.toLocaleString('en')} characters`;
  const usual = schema.default === undefined ? '' : ` Default: ${code(schema.default)}.`;
  return [
    literals?.map(code).join(', ') ?? `${[type].flat().join(' or ')}${format ? ` (${format})` : ''}${length}`,
    `${schema.description ?? ''}${usual}`,
  ];
}

function code(value: unknown): string {
  return `\`${value}\``;
}

function unknown(name: string): never {
  throw new Error(`docs/api.md has a table of ${name}, which the OpenAPI document lacks`);
}

if (import.meta.main) writeFileSync(apiPagePath, apiPage(readFileSync(apiPagePath, 'utf8')));
