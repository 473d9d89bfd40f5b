import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GetPublicKeyCommand, KMSClient } from '@aws-sdk/client-kms';
import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { fixtureTemplate, writeFixtureAssembly } from '../e2e/local/fixtures/assembly.ts';
import { Service, until } from '../helpers/service.ts';

/** What an update of the running engine changes, and when: with a template that has one of each thing. */
type Resources = Record<string, { Type?: string; Properties?: Record<string, unknown>; DependsOn?: string[] }>;

const folder = mkdtempSync(join(tmpdir(), 'data-out-update-'));
const former = writeFixtureAssembly(join(folder, 'former'));
let made = 0;
let service: Service;
beforeEach(async () => {
  await service?.stop();
  service = await Service.start({ assemblyDir: former });
});
afterAll(async () => {
  await service?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The fixture's assembly with a change. */
function changed(change: (resources: Resources) => void): string {
  const template = structuredClone(fixtureTemplate());
  change(template.Resources as Resources);
  made += 1;
  return writeFixtureAssembly(join(folder, String(made)), template);
}

/** Carry out all steps. @returns what `look` sees after each of them */
async function stepsOf<T>(assemblyDir: string, look: () => Promise<T>): Promise<[string, T][]> {
  const seen: [string, T][] = [];
  for await (const { action, logicalId } of service.engine.update(assemblyDir)) {
    seen.push([`${action} ${logicalId}`, await look()]);
  }
  return seen;
}

const get = (path: string) => fetch(service.connection.proxyUrl + path);
const status = async (path: string) => (await get(path)).status;
const colour = async (query = '') => {
  const { env } = (await (await get(`/echo${query}`)).json()) as { env: Record<string, string> };
  return env.COLOUR;
};
const recolour = (resources: Resources) => {
  resources.Echo!.Properties!.Environment = { Variables: { COLOUR: 'new' } };
};

test('an invocation ends on the code on which it began, and the next one has the new code', async () => {
  await colour();
  const invoke = vi.spyOn(service.engine.functions, 'invoke');
  const before = colour('?do=sleep&ms=1500');
  await until(() => (invoke.mock.calls.length > 0 ? true : undefined), 'the invocation');
  expect(await stepsOf(changed(recolour), () => colour())).toEqual([['put Echo', 'new']]);
  expect(await before).toBe('from-template');
});

test('a changed policy counts for the function as it runs', async () => {
  const put = async (key: string) => {
    const body = JSON.stringify({ do: 'put', bucket: service.connection.outputs.OutboxBucketName, key });
    await service.enqueue(service.connection.outputs.ExportRequestsQueueUrl, body);
  };
  await put('granted/1');
  await until(() => service.logs.some(({ line }) => line.includes('AccessDenied')) || undefined, 'a refusal');
  expect(await service.allOutboxKeys()).toEqual([]);
  const widened = changed(({ WorkRole: role }) => {
    role!.Properties = JSON.parse(JSON.stringify(role!.Properties).replace('/allowed/*', '/granted/*'));
  });
  expect(await stepsOf(widened, async () => undefined)).toEqual([['put WorkRole', undefined]]);
  await put('granted/2');
  await until(async () => ((await service.allOutboxKeys()).includes('granted/2') ? true : undefined), 'the object');
});

test('routes change when their stage does, and removals come last', async () => {
  const next = changed((resources) => {
    const { EchoFixed: resource, EchoFixedGet: method } = structuredClone(resources);
    resources.FreshResource = {
      ...resource,
      Properties: {
        ...resource!.Properties,
        PathPart: 'more',
        ParentId: { 'Fn::GetAtt': ['Proxy', 'RootResourceId'] },
      },
    };
    resources.FreshGet = { ...method, Properties: { ...method!.Properties, ResourceId: { Ref: 'FreshResource' } } };
    resources.ProxyStage!.DependsOn = ['FreshGet'];
    resources.ProxyStage!.Properties!.MethodSettings = [];
    delete resources.JobsToWork;
  });
  expect(await stepsOf(next, () => status('/more'))).toEqual([
    ['put FreshResource', 403],
    ['put FreshGet', 403],
    ['put ProxyStage', 200],
    ['delete JobsToWork', 200],
  ]);
});

test('a route that is taken away is served until the API is deployed again', async () => {
  const without = (settings: readonly unknown[]) =>
    changed((resources) => {
      delete resources.SlowGet;
      resources.ProxyStage!.Properties!.MethodSettings = settings;
    });
  const look = () => status('/slow');
  expect(await stepsOf(without([]), look)).toEqual([
    ['put ProxyStage', 200],
    ['delete SlowGet', 200],
  ]);
  expect(await stepsOf(without([{ HttpMethod: '*', ResourcePath: '/*' }]), look)).toEqual([['put ProxyStage', 403]]);
});

test('a queue keeps its messages, and takes over its new attributes', async () => {
  const { DeliveriesDeadLetterQueueUrl: url } = service.connection.outputs;
  await service.enqueue(url, 'kept');
  const next = changed(({ Dead: queue }) => {
    queue!.Properties!.VisibilityTimeout = 7;
  });
  expect(await stepsOf(next, () => service.queueDepth(url))).toEqual([['put Dead', 1]]);
  const command = new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['VisibilityTimeout'] });
  expect((await service.sqs.send(command)).Attributes).toEqual({ VisibilityTimeout: '7' });
});

test('a new signing key has a public key', async () => {
  const next = changed((resources) => {
    resources.Signing = { Type: 'AWS::KMS::Key', Properties: { KeySpec: 'ECC_NIST_P256', KeyUsage: 'SIGN_VERIFY' } };
    resources.Echo!.Properties!.Environment = { Variables: { COLOUR: { 'Fn::GetAtt': ['Signing', 'Arn'] } } };
  });
  await stepsOf(next, async () => undefined);
  const { region, credentials, endpoints } = service.connection;
  const client = new KMSClient({ region, credentials, endpoint: endpoints.kms });
  const command = new GetPublicKeyCommand({ KeyId: await colour() });
  expect((await client.send(command)).KeySpec).toBe('ECC_NIST_P256');
});

test('a message goes to the function that its mapping names now', async () => {
  const next = changed(({ JobsToWork: mapping, EchoRole: role, WorkRole: former }) => {
    role!.Properties!.Policies = former!.Properties!.Policies;
    mapping!.Properties!.FunctionName = { Ref: 'Echo' };
    mapping!.Properties!.FunctionResponseTypes = [];
  });
  await stepsOf(next, async () => undefined);
  const { ExportRequestsQueueUrl: url } = service.connection.outputs;
  // A batch that a poll began to gather before goes to the former function.
  await until(async () => {
    await service.enqueue(url, '{}');
    return (
      service.logs.some(({ functionName, line }) => functionName === 'echo' && line.includes('loaded')) || undefined
    );
  }, 'a message at the other function');
});

test('a message that was taken for a function that is gone stays in its queue', async () => {
  const next = changed((resources) => {
    delete resources.JobsToWork;
    delete resources.Work;
  });
  const { ExportRequestsQueueUrl: url } = service.connection.outputs;
  const invoke = vi.spyOn(service.engine.functions, 'invoke');
  expect(await stepsOf(next, async () => undefined)).toHaveLength(2);
  // The last poll lasts up to a second.
  await service.enqueue(url, '{}');
  await until(() => (invoke.mock.calls.length > 0 ? true : undefined), 'the batch of the last poll');
  expect(await service.queueDepth(url)).toBe(1);
});

test('a trigger that fails ends the update, and the way back is another one', async () => {
  const next = changed((resources) => {
    recolour(resources);
    resources.Migrate!.Properties!.Environment = { Variables: { CLUSTER_ARN: 'no cluster' } };
    resources.Migration!.Properties!.Again = 'yes';
  });
  await expect(stepsOf(next, async () => undefined)).rejects.toThrow(/^migrate failed/);
  expect(await colour()).toBe('new');
  await stepsOf(former, async () => undefined);
  expect(await colour()).toBe('from-template');
});

test('a parameter of the database waits for the next start, and an unknown one is refused', async () => {
  const withParameter = (name: string) =>
    changed((resources) => {
      const Parameters = { [name]: '1' };
      resources.Group = { Type: 'AWS::RDS::DBClusterParameterGroup', Properties: { Parameters } };
      Object.assign(resources.Cluster!.Properties!, {
        EngineVersion: '18',
        DBClusterParameterGroupName: { Ref: 'Group' },
      });
    });
  const parameter = async () => (await service.engine.database.run('show rds.restrict_password_commands', [])).rows[0];
  await stepsOf(withParameter('rds.restrict_password_commands'), async () => undefined);
  expect(await parameter()).toEqual(['off']);
  await expect(stepsOf(withParameter('rds.force_ssl'), async () => undefined)).rejects.toThrow(
    /^Fixture\/Group: the parameter rds.force_ssl = 1 cannot be set locally$/,
  );
  await stepsOf(former, async () => undefined);
});

test('an update that the engine cannot run is refused before its first step', async () => {
  const next = changed((resources) => {
    recolour(resources);
    resources.Cluster!.Properties!.DeletionProtection = true;
  });
  await expect(stepsOf(next, async () => undefined)).rejects.toThrow(/^Fixture\/Cluster: .* cannot be run locally$/);
  expect(await colour()).toBe('from-template');
});
