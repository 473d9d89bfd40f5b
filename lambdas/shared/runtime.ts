import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { type EnvironmentVariable, environment } from '../../lib/contract/environment.ts';

/** Value of a variable that the stack must have set. @throws Error at start-up, so that a bad deployment fails at once. */
export function required(name: EnvironmentVariable): string {
  const value = process.env[name];
  if (!value) throw new Error(`environment variable ${name} is not set`);
  return value;
}

/** As {@link required}, for a positive whole number. */
export function requiredNumber(name: EnvironmentVariable): number {
  const value = Number(required(name));
  if (!Number.isSafeInteger(value) || value < 1)
    throw new Error(`environment variable ${name} is not a positive number`);
  return value;
}

/** As {@link requiredNumber}; `undefined` for a variable that the stack has not set. */
export function optionalNumber(name: EnvironmentVariable): number | undefined {
  return process.env[name] === undefined ? undefined : requiredNumber(name);
}

/** Where researchers sign in; `undefined` without the setting `login`. */
export function deployedLogin(): { readonly issuer: string; readonly clientId: string } | undefined {
  const login = process.env[environment.login];
  return login === undefined ? undefined : JSON.parse(login);
}

/** The JSON document that is deployed beside the bundle under this path. @throws at start-up when it is missing */
export function bundledJson(path: string): unknown {
  return JSON.parse(readFileSync(new URL(`./${path}`, import.meta.url), 'utf8'));
}

/**
 * Make V8 keep the memory of this function small. Streamed bytes are garbage at once, but lie outside V8's heap: by default it
 * lets some 64 MB of them gather before it collects, and its heap for young objects grow to 48 MB. Earlier collection takes a
 * third off the peak and no more processor time: pieces that were sent give most of their memory back automatically.
 *
 * @param streamed `text` consists of many small objects in V8's heap: collecting all of them early would take at least
 * a third more processor time and save a tenth of the memory
 */
export function keepMemorySmall(streamed: 'bytes' | 'text' = 'bytes'): void {
  if (streamed === 'bytes') setFlagsFromString('--memory-saver-mode');
  setFlagsFromString('--semi-space-growth-factor=1');
}
