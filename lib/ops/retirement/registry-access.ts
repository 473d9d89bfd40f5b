import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { usageError } from '../../terminal/errors.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { ApiClient, type ApiClientOptions } from './api-client.ts';

/**
 * Variables with the tokens and the address. A token is never an option: other users of the machine can read options.
 */
const registryVariables = {
  apiUrl: 'REGISTRY_API_URL',
  packageToken: 'REGISTRY_PACKAGE_TOKEN',
  repositoryToken: 'REGISTRY_REPO_TOKEN',
} as const;

/** The scope that each token needs, as the platform spells it. */
const scopes = {
  [registryVariables.packageToken]: 'delete:packages',
  [registryVariables.repositoryToken]: 'repo',
} as const;

/** Names of this machine. Only to these may a token go without TLS. */
const loopback = new Set(['127.0.0.1', 'localhost', '[::1]']);

/** The API's base address, without a final slash. @throws UsageError */
export function registryApiUrl(option: string | undefined, terminal: Terminal): string {
  const text = option ?? terminal.env[registryVariables.apiUrl] ?? '';
  const field = option === undefined ? registryVariables.apiUrl : '--api-url';
  if (text === '')
    throw usageError('--api-url', `say the base URL of the platform's API, or set ${registryVariables.apiUrl}`);
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username || url.password) {
    throw usageError(field, 'expected a URL such as https://api.example.org, without query and credentials');
  }
  if (url.protocol === 'http:' && !loopback.has(url.hostname)) {
    throw usageError(field, 'expected https: a token must not cross a network unencrypted');
  }
  return url.href.replace(/\/+$/, '');
}

/** A client with each of the two tokens. @throws UsageError when one is missing */
export async function registryClients(
  options: Omit<ApiClientOptions, 'token' | 'tokenName' | 'scope' | 'userAgent' | 'timeoutMs'>,
  terminal: Terminal,
): Promise<{ readonly packages: ApiClient; readonly repository: ApiClient }> {
  const open = async (tokenName: keyof typeof scopes) =>
    new ApiClient({
      ...options,
      tokenName,
      token: await readToken(tokenName, terminal),
      scope: scopes[tokenName],
      userAgent: 'data-out-ops',
      timeoutMs: 30_000,
    });
  return {
    packages: await open(registryVariables.packageToken),
    repository: await open(registryVariables.repositoryToken),
  };
}

/** A token from the variable, or from the file that `<variable>_FILE` names. */
async function readToken(name: string, { env, folder }: Terminal): Promise<string> {
  const fileName = `${name}_FILE`;
  const [direct, file] = [env[name], env[fileName]];
  if (direct && file) throw usageError(name, `is set and ${fileName} too; leave one out`);
  const token = file ? (await readFile(resolve(folder, file), 'utf8')).trim() : direct?.trim();
  if (!token) throw usageError(name, `is not set: put the token there, or the name of a file into ${fileName}`);
  if (!/^[\x21-\x7e]+$/.test(token)) throw usageError(file ? fileName : name, 'expected one token on one line');
  return token;
}
