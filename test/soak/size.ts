/** Decides all random choices. The order in which calls reach the engine still differs from run to run. */
export const seed = process.env.SOAK_SEED ?? new Date().toISOString().slice(0, 10);

/** How many of something a run has. @throws RangeError when the environment variable is not a whole number above 0 */
function amount(variable: string, full: number): { readonly count: number; readonly full: number } {
  const count = Number(process.env[variable] ?? full);
  if (Number.isSafeInteger(count) && count > 0) return { count, full };
  throw new RangeError(`${variable}: expected a whole number above 0, got ${process.env[variable]}`);
}

export const exports = amount('SOAK_EXPORTS', 10_000);
export const files = amount('SOAK_FILES', 20_000);
export const requests = amount('SOAK_REQUESTS', 10_000);

/** `150 exports, scaled down from 10000`. */
export function sizeOf({ count, full }: typeof exports, what: string): string {
  return count < full ? `${count} ${what}, scaled down from ${full}` : `${count} ${what}`;
}

/** A line of the run's figures. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
