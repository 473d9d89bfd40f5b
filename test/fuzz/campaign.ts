import { Crypt4ghError } from '../../lib/crypt4gh/index.ts';
import { containerCase } from './containers.ts';
import { headerCase } from './headers.ts';
import { keyFileCase } from './key-files.ts';
import { Seeded } from './seeded.ts';

const kinds = { headers: headerCase, containers: containerCase, keyFiles: keyFileCase } as const;
export type Kind = keyof typeof kinds;
export const allKinds = Object.keys(kinds) as Kind[];

/** How often each outcome came: `ok` or the code of an error. */
export type Counts = Map<string, number>;

/**
 * Runs the cases of one kind. A case depends on seed, kind and index alone, so any of them can be run again separately.
 *
 * @param watch told before each case.
 * @throws Error naming the case, when it fails in any way but by an error of the library's own.
 */
export async function runCases(options: {
  readonly kind: Kind;
  readonly seed: string;
  readonly from?: number;
  readonly count: number;
  readonly watch?: (index: number) => void;
}): Promise<Counts> {
  const { kind, seed, from = 0, count, watch } = options;
  const counts: Counts = new Map();
  for (let index = from; index < from + count; index += 1) {
    watch?.(index);
    const outcome = await outcomeOf(kind, new Seeded(`${seed} ${kind} ${index}`), index);
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  }
  return counts;
}

async function outcomeOf(kind: Kind, random: Seeded, index: number): Promise<string> {
  try {
    await kinds[kind](random);
    return 'ok';
  } catch (error) {
    if (error instanceof Crypt4ghError) return error.code;
    throw new Error(`case ${index} of ${kind} failed`, { cause: error });
  }
}
