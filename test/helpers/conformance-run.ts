import { runCheck } from '../../lib/ops/smoke/check.ts';
import { type Run, startLocalRun } from '../../lib/ops/smoke/run.ts';
import { suite } from '../../lib/ops/smoke/suite.ts';
import type { Service } from './service.ts';

/** What the rows of the conformance suite use. */
const first = ['visa', 'users', 'archive', 'export', 'exported', 'outbox'];

/** A run of the conformance suite on a service, whose files are archived and exported. */
export async function conformanceRun(
  { connection, engine }: Service,
  onReply?: Run['onReply'],
  clients: Pick<Run['expected'], 'sda' | 'ega'> = {},
) {
  const run = await startLocalRun(connection, {
    ...{ onReply, signal: AbortSignal.timeout(300_000), withoutRole: engine.accounts.withoutRole },
    expected: { archiveKind: 'fega', deliveryReceipt: true, adminPage: true, needsPassword: true, ...clients },
  });
  const passed = new Set<string>();
  for (const check of suite.filter(({ id }) => first.includes(id))) {
    const { result, found } = await runCheck(check, run, passed);
    if (result !== 'passed') throw new Error(`${check.id}: ${found}`);
  }
  return { run, passed };
}
