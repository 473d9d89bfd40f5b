import { PutSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AwsCall } from '../../../lib/local/endpoint/traffic.ts';
import { Service } from '../../helpers/service.ts';

let service: Service;
beforeAll(async () => {
  service = await Service.shared();
});
afterAll(() => service?.stop());

const stackId = 'arn:aws:cloudformation:eu-north-1:000000000000:stack/DataOutStorage/local';

/** Refuse the first calls of some actions, each with its own error. */
function refuse(refusals: Record<string, string>): () => void {
  const left = new Map(Object.entries(refusals));
  return service.engine.traffic.addFault(({ service: name, action }: AwsCall) => {
    const code = left.get(`${name} ${action}`);
    left.delete(`${name} ${action}`);
    return code === undefined ? undefined : { error: { status: 400, code } };
  });
}
const linesOf = (name: string) =>
  service.logs.filter(({ functionName }) => functionName === name).map(({ line }) => line);

describe('the storage stack and its cluster', () => {
  const isProtected = () => {
    const { protectedStacks: stacks, protectedClusters: clusters } = service.engine.protection;
    return { stack: stacks.get(stackId), clusters: [...clusters.values()] };
  };

  test('are protected against deletion once the service is deployed, and the service stack is not', () => {
    expect(isProtected()).toEqual({ stack: true, clusters: [true] });
    const others = [...service.engine.protection.protectedStacks].filter(([id]) => id !== stackId);
    expect(others).toEqual([[stackId.replace('DataOutStorage', 'DataOutService'), false]]);
  });

  test('are protected again by the hourly run, which waits for permissions that are not known yet', async () => {
    const { protectedStacks: stacks, protectedClusters: clusters } = service.engine.protection;
    stacks.set(stackId, false);
    for (const arn of clusters.keys()) clusters.set(arn, false);
    const before = linesOf('protect').length;
    const stop = refuse({
      'cloudformation UpdateTerminationProtection': 'AccessDenied',
      'rds ModifyDBCluster': 'AccessDenied',
    });
    expect(await service.engine.functions.invoke('protect', {})).toMatchObject({ ok: true });
    stop();
    expect(isProtected()).toEqual({ stack: true, clusters: [true] });
    const said = linesOf('protect').slice(before);
    expect(said.filter((line) => line.includes('refused, perhaps not for long'))).toHaveLength(2);
  });
});

describe('the migration', () => {
  test('waits for permissions that are not known yet, and for the HTTP endpoint of a new cluster', async () => {
    const stop = refuse({
      'secretsmanager GetSecretValue': 'AccessDeniedException',
      'rds-data BeginTransaction': 'HttpEndpointNotEnabledException',
      'rds-data ExecuteStatement': 'AccessDeniedException',
    });
    expect(await service.engine.functions.invoke('migrate', {})).toMatchObject({ ok: true, payload: { applied: [] } });
    stop();
    expect(linesOf('migrate').filter((line) => line.includes('refused, perhaps not for long'))).toHaveLength(3);
  });

  test('gives a role the password that its secret has since an operator changed it', async () => {
    const { DATABASE_SECRET_ARN: SecretId } = service.engine.functions.definition('datasets').environment;
    const login = { username: 'data_out_reader', password: 'chosen-by-the-operator' };
    await service.secretsManager.send(new PutSecretValueCommand({ SecretId, SecretString: JSON.stringify(login) }));
    const visa = await service.visa();
    const status = async () => (await service.direct('metadata/datasets', visa)).status;
    expect(await status()).toBe(503);
    expect(await service.engine.functions.invoke('migrate', {})).toMatchObject({ ok: true });
    expect(await status()).toBe(200);
    expect(linesOf('migrate').filter((line) => line.includes(login.password))).toEqual([]);
  });
});
