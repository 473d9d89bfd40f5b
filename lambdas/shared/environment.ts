import type { EnvironmentVariable } from '../../lib/contract/environment.ts';

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
