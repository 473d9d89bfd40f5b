import { runCheck } from '../../lib/ops/smoke/check.ts';
import { visaFor } from '../../lib/ops/smoke/issuer.ts';
import { type IssueVisa, type Run, runIds, startRun } from '../../lib/ops/smoke/run.ts';
import { suite } from '../../lib/ops/smoke/suite.ts';
import { localDeployment, targetOf } from '../../lib/ops/target.ts';
import type { Service } from './service.ts';

/** What the rows of the conformance suite use. */
const first = ['visa', 'users', 'archive', 'export', 'exported', 'outbox', 'ticket'];

/** A run of the conformance suite on a service, whose files are archived and exported. */
export async function conformanceRun(
  service: Service,
  onReply: Run['onReply'] = () => {},
  clients: Pick<Run['expected'], 'sda' | 'ega'> = {},
) {
  const { connection, engine } = service;
  const deployment = localDeployment(connection);
  const ids = runIds(new Date());
  const issueVisa: IssueVisa = (...request) => visaFor(connection.issuer, ...request);
  const run = startRun({
    ...{ ids, deployment, target: targetOf(deployment), issueVisa, signal: AbortSignal.timeout(300_000), onReply },
    expected: { archiveKind: 'fega', deliveryReceipt: true, adminPage: true, needsPassword: true, ...clients },
    access: { ...connection, withoutRole: engine.accounts.withoutRole },
    visa: await issueVisa(ids.username, ids.datasetId, new Date()),
  });
  const passed = new Set<string>();
  for (const check of suite.filter(({ id }) => first.includes(id))) {
    const { result, found } = await runCheck(check, run, passed);
    if (result !== 'passed') throw new Error(`${check.id}: ${found}`);
    passed.add(check.id);
  }
  return { run, passed };
}
