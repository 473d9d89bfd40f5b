import type { Settings } from '../../infra/settings.ts';
import type { AwsAccount } from '../stores/account.ts';

/** One line of the preflight. */
export interface PreflightResult {
  /** Stable, for scripts. */
  readonly id: string;
  readonly check: string;
  /** `look`: a person must decide. `not allowed`: these credentials may not ask. Neither is a failure. */
  readonly result: 'fine' | 'look' | 'wrong' | 'not allowed';
  readonly found: string;
  readonly remedy?: string;
}

/** What a question found out. */
export type Outcome = Pick<PreflightResult, 'found'> &
  ({ readonly result: 'fine' } | { readonly result: 'look' | 'wrong'; readonly remedy: string });

export interface Question {
  readonly id: string;
  readonly check: string;
  readonly ask: () => Promise<Outcome>;
}

export const fine = (found: string): Outcome => ({ result: 'fine', found });
export const review = (found: string, remedy: string): Outcome => ({ result: 'look', found, remedy });
export const wrong = (found: string, remedy: string): Outcome => ({ result: 'wrong', found, remedy });

/** What questions ask, and about what. */
export interface Asked {
  readonly account: AwsAccount;
  readonly region: string;
  readonly settings: Settings;
  /** Major version of Aurora PostgreSQL that a new cluster gets. */
  readonly engineVersion: string;
  /** The stacks of the stage, in the order of their names, asked for once; `undefined` for one that is missing. */
  readonly stacks: () => Promise<readonly Awaited<ReturnType<AwsAccount['stack']>>[]>;
  /** Whether both stacks exist: what they have is in use already. */
  readonly isDeployed: () => Promise<boolean>;
}
