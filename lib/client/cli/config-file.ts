import { readFile } from 'node:fs/promises';
import { parse, stringify, TomlError } from 'smol-toml';
import * as z from 'zod/mini';
import { decodedText } from '../../common/text.ts';
import { UsageError, usageError } from '../../terminal/errors.ts';

const inQuotes = 'expected text in quotes, not empty';
const text = z.optional(z.string(inQuotes).check(z.minLength(1, inQuotes)));
const inList = 'expected a list of texts: ["first", "second"]';

const schema = z.strictObject({
  url: text,
  visa_file: text,
  username: text,
  password_file: text,
  key_files: z.optional(z.array(z.string(inList).check(z.minLength(1, inList)), inList)),
  passphrase_file: text,
  ca_file: text,
  insecure_http: z.optional(z.boolean('expected true or false')),
});

/** `config.toml`. Paths begin at the folder of the file. */
export type ConfigFile = z.infer<typeof schema>;

/** Reads the configuration file. @throws UsageError that names the file and the line or setting, never a value */
export async function readConfigFile(path: string, mustExist: boolean): Promise<ConfigFile> {
  const bytes = await readFile(path).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT' && !mustExist) return Buffer.alloc(0);
    throw new UsageError(`the configuration file ${path} cannot be read (${cause.code ?? cause.message})`, { cause });
  });
  const { data, error } = schema.safeParse(parsed(path, decodedText(bytes)));
  if (data) return data;
  const [issue] = error.issues;
  if (issue?.code !== 'unrecognized_keys') throw usageError(`${path}: ${String(issue?.path[0])}`, `${issue?.message}`);
  const names = Object.keys(schema.shape).join(', ');
  const remedy = `There are ${names}. Secrets are in other files, which visa_file and password_file name.`;
  throw usageError(`${path}: ${issue.keys[0]}`, 'there is no such setting', remedy);
}

/** The text of a configuration file. */
export function formatConfigFile(config: ConfigFile): string {
  const inOrder = schema.parse(config);
  return `# Written by data-out setup. Paths begin at the folder of this file.\n${stringify(inOrder)}`;
}

function parsed(path: string, toml: string): Record<string, unknown> {
  try {
    return parse(toml);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const example = 'A setting looks like this: url = "https://data-out.example.org/v1/"';
    // Without the parser's message: it quotes the line, which may hold a secret.
    throw usageError(`${path}, line ${error.line}, column ${error.column}`, 'this is not TOML', example);
  }
}
