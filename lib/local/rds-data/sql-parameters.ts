/** SQL with positional parameters, and the parameter names in their order. */
export interface PositionalSql {
  readonly sql: string;
  readonly names: readonly string[];
}

/** What is not SQL text to look at: quoted strings and identifiers, dollar quotes, comments, casts. */
const opaque = [
  /[eE]'(?:[^'\\]|\\[\s\S]|'')*'/y,
  /'(?:[^']|'')*'/y,
  /"(?:[^"]|"")*"/y,
  /\$([A-Za-z_]\w*)?\$[\s\S]*?\$\1\$/y,
  /--[^\n]*/y,
  /::/y,
];
const parameter = /:([A-Za-z_]\w*)/y;
const word = /[A-Za-z_][\w$]*/y;

/**
 * Turn the named parameters of the RDS Data API, `:name`, into PostgreSQL's positional ones, `$1`. A name that occurs
 * twice is one parameter.
 */
export function toPositional(sql: string): PositionalSql {
  const names: string[] = [];
  let output = '';
  for (let index = 0; index < sql.length; ) {
    const skipped = blockComment(sql, index) ?? matchAny(opaque, sql, index);
    if (skipped !== undefined) {
      output += skipped;
      index += skipped.length;
      continue;
    }
    const name = matchAt(parameter, sql, index)?.[1];
    if (name !== undefined) {
      if (!names.includes(name)) names.push(name);
      output += `$${names.indexOf(name) + 1}`;
      index += name.length + 1;
      continue;
    }
    const text = matchAt(word, sql, index)?.[0] ?? sql.charAt(index);
    output += text;
    index += text.length;
  }
  return { sql: output, names };
}

function matchAny(patterns: readonly RegExp[], sql: string, index: number): string | undefined {
  for (const pattern of patterns) {
    const found = matchAt(pattern, sql, index);
    if (found) return found[0];
  }
  return undefined;
}

function matchAt(pattern: RegExp, sql: string, index: number): RegExpExecArray | null {
  pattern.lastIndex = index;
  return pattern.exec(sql);
}

/** PostgreSQL's block comments nest. */
function blockComment(sql: string, start: number): string | undefined {
  if (!sql.startsWith('/*', start)) return undefined;
  let depth = 0;
  let index = start;
  while (index < sql.length) {
    if (sql.startsWith('/*', index)) {
      depth += 1;
      index += 2;
    } else if (sql.startsWith('*/', index)) {
      depth -= 1;
      index += 2;
      if (depth === 0) break;
    } else {
      index += 1;
    }
  }
  return sql.slice(start, index);
}
