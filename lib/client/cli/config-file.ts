import { readFile } from 'node:fs/promises';
import { parse, stringify, TomlError } from 'smol-toml';
import { UsageError, usageError } from '../../terminal/errors.ts';

interface Values {
  readonly string: string;
  readonly boolean: boolean;
  readonly list: readonly string[];
}
type Kind = keyof Values;

const kinds = {
  url: 'string',
  visa_file: 'string',
  username: 'string',
  password_file: 'string',
  key_files: 'list',
  passphrase_file: 'string',
  ca_file: 'string',
  insecure_http: 'boolean',
} as const satisfies Readonly<Record<string, Kind>>;

/** `config.toml`. Paths begin at the folder of the file. */
export type ConfigFile = { readonly [Name in keyof typeof kinds]?: Values[(typeof kinds)[Name]] | undefined };

const expected: Readonly<Record<Kind, string>> = {
  string: 'expected text in quotes, not empty',
  boolean: 'expected true or false',
  list: 'expected a list of texts: ["first", "second"]',
};
/** Secrets are in separate files, which can be protected and renewed. */
const secretNames: readonly string[] = ['visa', 'password', 'passphrase', 'token', 'key'];

/** Reads the configuration file. @throws UsageError that names the file and the line or setting, never a value */
export async function readConfigFile(
  path: string,
  { mustExist }: { readonly mustExist: boolean },
): Promise<ConfigFile> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' && !mustExist) return '';
    throw new UsageError(`the configuration file ${path} cannot be read (${error.code ?? error.message})`, {
      cause: error,
    });
  });
  return checked(path, parsed(path, text));
}

/** The text of a configuration file. */
export function formatConfigFile(config: ConfigFile): string {
  const inOrder = Object.keys(kinds).flatMap((name) => {
    const value = isSetting(name) ? config[name] : undefined;
    return value === undefined ? [] : [[name, value]];
  });
  return `# Written by data-out setup. Paths begin at the folder of this file.\n${stringify(Object.fromEntries(inOrder))}`;
}

function parsed(path: string, text: string): Record<string, unknown> {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // Without the parser's message: it quotes the line, which may hold a secret.
    throw usageError(`${path}, line ${error.line}, column ${error.column}`, 'this is not TOML', example);
  }
}

const example = 'A setting looks like this: url = "https://data-out.example.org/v1/"';

function checked(path: string, values: Record<string, unknown>): ConfigFile {
  for (const [name, value] of Object.entries(values)) {
    if (secretNames.includes(name)) {
      throw usageError(
        `${path}: ${name}`,
        'secrets do not belong in this file',
        'Name a file: visa_file, password_file.',
      );
    }
    if (!isSetting(name)) {
      throw usageError(`${path}: ${name}`, 'there is no such setting', `There are ${Object.keys(kinds).join(', ')}.`);
    }
    if (!fits(value, kinds[name])) throw usageError(`${path}: ${name}`, expected[kinds[name]]);
  }
  return values;
}

function isSetting(name: string): name is keyof ConfigFile {
  return Object.hasOwn(kinds, name);
}

function fits(value: unknown, kind: Kind): boolean {
  if (kind === 'boolean') return typeof value === 'boolean';
  if (kind === 'string') return typeof value === 'string' && value !== '';
  return Array.isArray(value) && value.every((each) => typeof each === 'string' && each !== '');
}
