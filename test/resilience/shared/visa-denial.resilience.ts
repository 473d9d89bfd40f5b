import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AwsCall } from '../../../lib/local/endpoint/traffic.ts';
import { opsProcess } from '../../helpers/ops-process.ts';
import { expectProblem } from '../../helpers/raw-http.ts';
import { Service } from '../../helpers/service.ts';

/** What an operator denies with `data-out-ops visa deny` is refused at every door, and in what waits behind them. */

let service: Service;
let fileId: string;

beforeAll(async () => {
  service = await Service.shared();
  ({ fileId } = await service.archive('EGAD1', 'study/sample.bam', 1000));
  await service.setDataset('EGAD1', 'released');
  await service.putStaged('researcher', 'EGAF1-sample.c4gh', 'content');
});
afterAll(() => service?.stop());

/** As an operator, with the tool. Then the functions start again, so that none uses the list of a minute ago. */
async function tool(...argv: string[]): Promise<string> {
  const { connectionPath } = service.engine;
  const { exitCode, stdout, stderr } = await opsProcess(['visa', ...argv], { connectionPath });
  if (exitCode !== 0) throw new Error(stderr);
  await service.engine.functions.recycle();
  return stdout;
}
const entry = (of: '--jti' | '--subject', value: string) => ['--issuer', service.connection.issuer.iss, of, value];

/** Statuses of listing, streaming, the direct API and DRS. */
async function doors(token: string): Promise<readonly number[]> {
  const json = { 'Content-Type': 'application/json' };
  const body = JSON.stringify({ passports: [token] });
  const object = `ga4gh/drs/v1/objects/${fileId}`;
  return [
    (await service.get('files?inbox=false', token)).status,
    (await service.get('stream/EGAF1-sample.c4gh', token)).status,
    (await service.direct('metadata/datasets', token)).status,
    (await service.direct(`files/${fileId}`, token)).status,
    (await service.direct(object, undefined, { method: 'POST', headers: json, body })).status,
  ];
}
const open = [200, 307, 200, 200, 200];
const shut = [401, 401, 401, 401, 401];

const stolen = () => service.visa({ claims: { jti: 'stolen' } });
/** Whether a call reads the deny list. */
const readsDenyList = ({ action, input }: AwsCall) =>
  action === 'GetSecretValue' && String(input?.SecretId).includes('VisaDenyList');
const unavailable = { error: { status: 500, code: 'InternalServiceError' } };

test('a visa on the deny list is refused at every door, another of the same subject is not, and it is good again when it is allowed', async () => {
  const visa = await stolen();
  const other = await service.visa({ claims: { jti: 'other' } });
  expect(await doors(visa)).toEqual(open);
  await tool('deny', ...entry('--jti', 'stolen'));
  expect(await tool('denied')).toMatch(/^token +stolen +https:/m);
  expect(await doors(visa)).toEqual(shut);
  expect(await doors(other)).toEqual(open);
  const { status, text } = await service.direct('metadata/datasets', visa);
  expect([status, text]).toEqual([401, expect.not.stringContaining('stolen')]);
  await tool('allow', ...entry('--jti', 'stolen'));
  expect(await doors(visa)).toEqual(open);
});

test('a denied subject is refused with every visa, a denied passport as a whole', async () => {
  const visas = [await service.visa({ subject: 'ana', claims: { jti: 'v1' } })];
  const passport = await service.passport('broker-ana', visas);
  await tool('deny', ...entry('--subject', 'ana'));
  expect(await doors(visas[0] ?? '')).toEqual(shut);
  // Without its one visa the passport is good, and grants nothing.
  expect((await service.direct('metadata/datasets', passport)).text).toBe('[]');
  await tool('deny', ...entry('--subject', 'broker-ana'));
  expect((await service.direct('metadata/datasets', passport)).status).toBe(401);
});

test('a function that cannot read the list refuses every caller, as a temporary failure', async () => {
  const visa = await service.visa();
  await service.engine.functions.recycle();
  const heal = service.engine.traffic.addFault((call) => (readsDenyList(call) ? unavailable : undefined));
  try {
    expect(await doors(visa)).toEqual([503, 503, 503, 503, 503]);
    expectProblem(await service.direct('metadata/datasets', visa), 503, 'temporarily_unavailable');
  } finally {
    heal();
  }
  expect(await doors(visa)).toEqual(open);
});
