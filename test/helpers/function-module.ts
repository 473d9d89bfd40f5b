import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import v8 from 'node:v8';
import { vi } from 'vitest';

/**
 * Give the functions that are loaded from now on these variables, and `document` as the JSON beside their bundle: there is none in
 * the sources. They leave the flags of this process as they are.
 *
 * @returns ends it
 */
export function functionEnvironment(
  variables: Readonly<Record<string, string>>,
  document: () => unknown = () => undefined,
): () => void {
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  const { readFileSync } = fs;
  const bundled = /\/lambdas\/shared\/[\w/-]+\.json$/;
  const read = (path: unknown, ...rest: unknown[]) =>
    bundled.test(String(path)) ? JSON.stringify(document()) : Reflect.apply(readFileSync, fs, [path, ...rest]);
  const spies = [
    vi.spyOn(fs, 'readFileSync').mockImplementation(read as typeof readFileSync),
    vi.spyOn(v8, 'setFlagsFromString').mockReturnValue(),
  ];
  syncBuiltinESMExports();
  return () => {
    vi.unstubAllEnvs();
    for (const spy of spies) spy.mockRestore();
    syncBuiltinESMExports();
  };
}

let instances = 0;

/** The module of a function as a new instance has it: nothing is cached from another test. @param path below `lambdas` */
export async function coldModule<T>(path: string): Promise<T> {
  instances += 1;
  return await import(/* @vite-ignore */ new URL(`../../lambdas/${path}?instance=${instances}`, import.meta.url).href);
}
