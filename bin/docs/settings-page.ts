import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import * as z from 'zod';
import { settingsSchema } from '../../lib/infra/settings.ts';
import { settings } from '../settings.ts';
import { markdownTable } from './table.ts';

export const settingsPagePath = join(import.meta.dirname, '../../docs/settings.md');

/** What the schema says of a type: what it takes, and what applies where a field is left out. */
const said = (type: z.ZodType) =>
  (type.meta() ?? {}) as { description?: string; expected?: string; fallback?: string | number };

/** A table of the page, between `<!-- settings: <fields> -->` and `<!-- end -->`. */
const table = /(<!-- settings: (.+?) -->\n)[\s\S]*?(<!-- end -->)/g;

/** The page with its tables as the schema and the defaults give them now. @throws Error for a field that no table has, or an unknown one */
export function settingsPage(page: string): string {
  const left = new Map<string, z.ZodType>(Object.entries(settingsSchema.shape));
  const made = page.replace(table, (_, begin: string, names: string, end: string) => {
    const rows = names.split(' ').flatMap((name) => {
      const type = left.get(name);
      if (type === undefined) throw new Error(`there is no setting ${name}, or it is in two tables`);
      left.delete(name);
      return [...rowsOf(name, type, (settings as Readonly<Record<string, unknown>>)[name])];
    });
    return `${begin}${markdownTable(['setting', 'value', 'default', 'meaning'], rows)}${end}`;
  });
  if (left.size > 0) throw new Error(`the page lacks ${[...left.keys()].join(', ')}`);
  return made;
}

function* rowsOf(name: string, type: z.ZodType, usual: unknown): Generator<readonly string[]> {
  const { description = '', fallback } = said(type);
  const inner = type instanceof z.ZodOptional ? (type.unwrap() as z.ZodType) : type;
  const parts = inner instanceof z.ZodUnion && said(inner).expected === undefined ? inner.options : [inner];
  const objects = parts.filter((part) => part instanceof z.ZodObject);
  if (objects.length === 0 || description !== '')
    yield [`\`${name}\``, takenBy(inner), defaultOf(inner, usual, fallback), description];
  for (const [field, part] of objects.flatMap(({ shape }) => Object.entries<z.ZodType>(shape))) {
    yield* rowsOf(`${name}.${field}`, part, (usual as Readonly<Record<string, unknown>> | undefined)?.[field]);
  }
}

function takenBy(type: z.ZodType): string {
  const { expected } = said(type);
  if (expected !== undefined) return expected;
  if (type instanceof z.ZodEnum) return type.options.map((value) => `'${value}'`).join(' or ');
  if (type instanceof z.ZodBoolean) return 'true or false';
  if (!(type instanceof z.ZodNumber)) return '';
  const [from, to] = [type.minValue, type.maxValue].map((limit) => Number(limit).toLocaleString('en'));
  return `${from}–${to}${type.isInt ? '' : ' in steps of 0.5'}`;
}

/** A default as code if it is a value, and as it stands if it is in words. */
function defaultOf(type: z.ZodType, usual: unknown, fallback: string | number = ''): string {
  if (type instanceof z.ZodObject) return String(fallback);
  const value = usual ?? fallback;
  return type.safeParse(value).success ? `\`${inspect(value)}\`` : String(value);
}

if (import.meta.main) writeFileSync(settingsPagePath, settingsPage(readFileSync(settingsPagePath, 'utf8')));
