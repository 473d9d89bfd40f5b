import type { Connection } from '../../contract/connection.ts';
import { counted, formatBytes } from '../../terminal/output.ts';
import { localDeployment, targetOf } from '../target.ts';
import { type Check, NotApplicable } from './check.ts';
import { archiveChecks, deliveryChecks } from './checks/delivery.ts';
import { exportChecks } from './checks/export.ts';
import { visaFor } from './issuer.ts';
import { type Expected, type IssueVisa, type Run, runIds, startRun } from './run.ts';
import { expectThat, type Steps } from './steps.ts';

/** What staging has cost so far. */
export interface StagingCost {
  /** Bytes of archived bodies that the function read. */
  readonly bytesRead: number;
  /** Parts that S3 copied without the function reading them. */
  readonly partsCopied: number;
}

export interface Demonstration {
  readonly connection: Connection;
  readonly expected: Expected;
  readonly stagingCost: () => StagingCost;
  readonly steps: Steps;
  readonly signal: AbortSignal;
  /** @default - the value of the connection */
  readonly target?: Run['target'];
}

/**
 * The checks of the smoke test that are the main path, told step by step on a running engine: fill the archive, export, list, stream
 * and decrypt, verify the receipt, fetch directly, and what must be rejected.
 *
 * @throws StepFailure, which names the first step that did not hold
 */
export async function demonstrate({ connection, steps, signal, ...given }: Demonstration): Promise<void> {
  const ids = runIds(new Date());
  const deployment = localDeployment(connection);
  const issueVisa: IssueVisa = (...request) => visaFor(connection.issuer, ...request);
  await using run = startRun({
    ...{ ids, deployment, steps, signal, issueVisa, expected: given.expected, access: connection },
    target: given.target ?? targetOf(deployment),
    visa: await issueVisa(ids.username, ids.datasetId, new Date()),
  });
  for (const check of [...archiveChecks, ...exportChecks, stagingCheck(given.stagingCost), ...deliveryChecks]) {
    await tell(check, run);
  }
}

async function tell(check: Check, run: Run): Promise<void> {
  try {
    if (check.inSteps) await check.run(run);
    else await run.steps(check.id, () => check.run(run));
  } catch (error) {
    if (!(error instanceof NotApplicable)) throw error;
  }
}

/** S3 copies the bodies. The traffic of an engine shows it, which a deployment keeps to itself. */
function stagingCheck(cost: () => StagingCost): Check {
  return {
    id: 'staging',
    title: 'S3 itself copied the bodies',
    remedy: 'Check the log of StageFile.',
    async run() {
      const { bytesRead, partsCopied } = cost();
      expectThat(partsCopied > 0, 'S3 itself copied no part of a body');
      return `${counted(partsCopied, 'part')}, and ${formatBytes(bytesRead)} through a function`;
    },
  };
}
