import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { usageError } from '../../terminal/errors.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { ApiClient, type ApiClientOptions } from './api-client.ts';

/** Variable with the address of the API. */
const apiUrlVariable = 'REGISTRY_API_URL';
/** Names of this machine. Only to these may a token go without TLS. */
const loopback = new Set(['127.0.0.1', 'localhost', '[::1]']);

/** The API's base address, without a final slash. @throws UsageError */
export function registryApiUrl(option: string | undefined, { env }: Terminal): string {
  const text = option ?? env[apiUrlVariable] ?? '';
  const field = option === undefined ? apiUrlVariable : '--api-url';
  if (text === '') throw usageError('--api-url', `say the base URL of the platform's API, or set ${apiUrlVariable}`);
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username || url.password) {
    throw usageError(field, 'expected a URL such as https://api.example.org, without query and credentials');
  }
  if (url.protocol === 'http:' && !loopback.has(url.hostname)) {
    throw usageError(field, 'expected https: a token must not cross a network unencrypted');
  }
  return url.href.replace(/\/+$/, '');
}

/**
 * A client with each of the two tokens, which come from variables: other users of the machine can read options.
 * @throws UsageError when one is missing
 */
export async function registryClients(
  options: Omit<ApiClientOptions, 'token' | 'tokenName' | 'scope' | 'userAgent' | 'timeoutMs'>,
  terminal: Terminal,
): Promise<{ readonly packages: ApiClient; readonly repository: ApiClient }> {
  const open = async (tokenName: string, scope: string) => {
    const token = await readToken(tokenName, terminal);
    return new ApiClient({ ...options, tokenName, token, scope, userAgent: 'data-out-ops', timeoutMs: 30_000 });
  };
  return {
    packages: await open('REGISTRY_PACKAGE_TOKEN', 'delete:packages'),
    repository: await open('REGISTRY_REPO_TOKEN', 'repo'),
  };
}

/** A token from the variable, or from the file that `<variable>_FILE` names. */
async function readToken(name: string, { env, folder }: Terminal): Promise<string> {
  const fileName = `${name}_FILE`;
  const [direct, file] = [env[name], env[fileName]];
  if (direct && file) throw usageError(name, `is set, and so is ${fileName}; omit one`);
  const token = file ? (await readFile(resolve(folder, file), 'utf8')).trim() : direct?.trim();
  if (!token) throw usageError(name, `is not set: put the token there, or the name of a file into ${fileName}`);
  if (!/^[\x21-\x7e]+$/.test(token)) throw usageError(file ? fileName : name, 'expected one token on one line');
  return token;
}
