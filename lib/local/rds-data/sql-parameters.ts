import { BoundedMap } from '../../common/recent.ts';
import { unknownHere } from './sql-values.ts';

/** SQL with positional parameters, and the parameter names in their order. */
export interface PositionalSql {
  readonly sql: string;
  readonly names: readonly string[];
}

/** What holds no parameters: quoted strings and identifiers, dollar quotes, comments, casts, words. */
const opaque = [
  /[eE]'(?:[^'\\]|\\[\s\S]|'')*'/y,
  /'(?:[^']|'')*'/y,
  /"(?:[^"]|"")*"/y,
  /\$([A-Za-z_]\w*)?\$[\s\S]*?\$\1\$/y,
  /--[^\n]*/y,
  /::/y,
  /[A-Za-z_][\w$]*/y,
];
/**
 * The functions have some dozens of statements with parameters, whose translation takes as long as their execution. Without
 * parameters, the text itself holds the values, such as the password of a login.
 */
const positional = new BoundedMap<string, PositionalSql>(500);
const parameter = /:([A-Za-z_]\w*)/y;

/**
 * Turn the named parameters of the RDS Data API, `:name`, into PostgreSQL's positional ones, `$1`. A name that occurs
 * twice is one parameter.
 *
 * @throws AwsError BadRequestException for a block comment
 */
export function toPositional(sql: string): PositionalSql {
  const known = positional.get(sql);
  if (known) return known;
  const names: string[] = [];
  let output = '';
  for (let index = 0; index < sql.length; ) {
    if (sql.startsWith('/*', index)) throw unknownHere('block comments');
    const name = matchAt(parameter, sql, index)?.[1];
    if (name !== undefined) {
      if (!names.includes(name)) names.push(name);
      output += `$${names.indexOf(name) + 1}`;
      index += name.length + 1;
      continue;
    }
    const text = skipped(sql, index) ?? sql.charAt(index);
    output += text;
    index += text.length;
  }
  const made = { sql: output, names };
  if (names.length > 0) positional.set(sql, made);
  return made;
}

function skipped(sql: string, index: number): string | undefined {
  for (const pattern of opaque) {
    const found = matchAt(pattern, sql, index);
    if (found) return found[0];
  }
  return undefined;
}

function matchAt(pattern: RegExp, sql: string, index: number): RegExpExecArray | null {
  pattern.lastIndex = index;
  return pattern.exec(sql);
}
