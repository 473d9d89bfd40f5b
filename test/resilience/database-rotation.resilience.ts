import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DescribeSecretCommand, GetSecretValueCommand, RotateSecretCommand } from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateKeyPair } from '../../lib/crypt4gh/index.ts';
import type { AwsCall } from '../../lib/local/endpoint/traffic.ts';
import { synthesizeWithSettings } from '../helpers/assembly-with-settings.ts';
import { basic, Service, until } from '../helpers/service.ts';

/** Secrets of the database roles are rotated, while the service is used, and while the rotation function dies. */
const datasetId = 'EGAD00000000001';
const recipient = generateKeyPair();
const rotator = 'rotate-database-login';
let folder: string;
let service: Service;
let fileId: string;
/** ARNs of the secrets, by the logins that they begin with. */
const secretArns = new Map<string, string>();
/** Every password that a role had, with its login. */
const logins = new Map<string, { username: string; password: string }>();
/** What was sent to the database, with its parameters. */
const statements: string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'data-out-rotation-'));
  synthesizeWithSettings(join(folder, 'assembly'), { databaseRotationDays: 30 });
  service = await start(join(folder, 'assembly'));
  service.engine.traffic.observe(({ service: name, input }: AwsCall) => {
    if (name === 'rds-data') statements.push(JSON.stringify(input));
  });
  const { environment } = service.engine.functions.definition(rotator);
  for (const role of ['PROXY', 'AUDITOR', 'READER', 'WORKER']) {
    const arn = environment[`DATABASE_${role}_SECRET_ARN`] ?? '';
    secretArns.set((await current(arn)).username, arn);
  }
  fileId = (await service.archive(datasetId, 'small.vcf', 5000)).fileId;
  await service.setDataset(datasetId, 'released');
}, 240_000);
afterAll(async () => {
  await service?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const start = (assemblyDir?: string) =>
  Service.start({ dataDir: join(folder, 'state'), ...(assemblyDir !== undefined && { assemblyDir }) });

async function current(arn: string): Promise<{ username: string; password: string }> {
  const { SecretString = '' } = await service.secretsManager.send(new GetSecretValueCommand({ SecretId: arn }));
  const login = JSON.parse(SecretString) as { username: string; password: string };
  logins.set(login.password, login);
  return login;
}

/** The current version of a secret, if no rotation is under way. */
async function settledVersion(arn: string): Promise<string | undefined> {
  const { VersionIdsToStages = {} } = await service.secretsManager.send(new DescribeSecretCommand({ SecretId: arn }));
  const stages = Object.entries(VersionIdsToStages);
  if (stages.some(([, names]) => names.includes('AWSPENDING'))) return undefined;
  return stages.find(([, names]) => names.includes('AWSCURRENT'))?.[0];
}

/** Rotate a secret to the end. */
async function rotate(arn: string): Promise<void> {
  const before = await current(arn);
  const { VersionId } = await service.secretsManager.send(new RotateSecretCommand({ SecretId: arn }));
  await until(async () => ((await settledVersion(arn)) === VersionId ? true : undefined), 'the rotation to end');
  expect((await current(arn)).username).not.toBe(before.username);
}

/** One request of each kind that needs the database: what it answered, and what it should answer. */
function requests(): Promise<readonly (readonly [string, unknown, unknown])[]> {
  const unknown = { username: `user-${crypto.randomUUID()}`, password: 'is not known here' };
  const exportOne = async () => {
    const subject = `recipient-${crypto.randomUUID()}`;
    const visa = await service.visa({ subject, datasetId });
    const requestId = await service.exported({ id: datasetId, visa, publicKey: recipient.publicKey });
    await service.settled(requestId);
    return (await service.list(visa)).length;
  };
  const statusOf = async (path: string, headers: Record<string, string>) =>
    (await fetch(service.url(path), { headers })).status;
  const visa = () => service.visa({ datasetId });
  return Promise.all(
    Object.entries({
      'an export, staged and listed': [exportOne, 1],
      // Known users are remembered for a while; who is unknown is looked up each time.
      'a listing of an unknown user': [
        async () => statusOf('files?inbox=false', { Authorization: basic(unknown), 'X-GA4GH-Visa': await visa() }),
        401,
      ],
      'a direct file': [async () => (await service.direct(`files/${fileId}`, await visa())).status, 200],
      'the state of exports': [
        async () => statusOf('export/fega', { Authorization: basic(service.connection.admin) }),
        200,
      ],
    } as const).map(async ([name, [ask, expected]]) => [name, await ask(), expected] as const),
  );
}

async function expectServed(): Promise<void> {
  for (const [name, answer, expected] of await requests()) expect([name, answer]).toEqual([name, expected]);
}

test('a new schedule is tried, and rotates nothing', async () => {
  const said = service.logs.filter(({ functionName }) => functionName === rotator).map(({ line }) => line);
  expect(said.filter((line) => line.includes('"step":"testSecret"') && line.includes('"outcome":"done"'))).toHaveLength(
    4,
  );
  for (const [username, arn] of secretArns) {
    expect((await current(arn)).username).toBe(username);
    expect(await settledVersion(arn)).toBeDefined();
  }
  expect([...secretArns.keys()]).toEqual(['data_out_proxy', 'data_out_auditor', 'data_out_reader', 'data_out_worker']);
});

test('every role is rotated under traffic: no request fails, and no statement is refused', async () => {
  const refused: string[] = [];
  const endObserving = service.engine.traffic.observe(({ caller, service: name, action, input }: AwsCall, status) => {
    if (name === 'rds-data' && status !== 200) refused.push(`${caller} ${action} ${JSON.stringify(input)}`);
  });
  let isOver = false;
  let rounds = 0;
  const traffic = (async () => {
    while (!isOver) {
      await expectServed();
      rounds += 1;
    }
  })();
  for (const _ of ['to the second login', 'back', 'to the second login again']) {
    await Promise.all([...secretArns.values()].map(rotate));
  }
  isOver = true;
  await traffic;
  endObserving();
  expect(rounds).toBeGreaterThan(0);
  expect(refused).toEqual([]);
  // What the Data API may still hold of the version before: it works until the next rotation.
  for (const arn of secretArns.values()) {
    const { SecretString = '' } = await service.secretsManager.send(
      new GetSecretValueCommand({ SecretId: arn, VersionStage: 'AWSPREVIOUS' }),
    );
    await service.engine.database.run('select 1', [], { login: JSON.parse(SecretString) });
  }
}, 180_000);

test('Migrate takes the login that the secret names', async () => {
  expect(await service.engine.functions.invoke('migrate', {})).toMatchObject({ ok: true });
  await expectServed();
});

test('a function that dies at any AWS call leaves a service that works, and the next attempt goes through', async () => {
  const arn = secretArns.get('data_out_reader') ?? '';
  const calls: string[] = [];
  const endObserving = service.engine.traffic.observe(({ caller, action }: AwsCall) => {
    if (caller === rotator) calls.push(action);
  });
  await rotate(arn);
  endObserving();
  const writes = ['PutSecretValue', 'UpdateSecretVersionStage', 'CommitTransaction'];
  expect(calls).toEqual(expect.arrayContaining(writes));
  // Death after a call is death before the next one; except that the answer to a change can also be lost.
  const points = calls.flatMap((action, index) =>
    (['before', ...(writes.includes(action) ? (['after'] as const) : [])] as const).map((when) => ({ index, when })),
  );
  for (const { index, when } of points) {
    let seen = 0;
    let transactionId: unknown;
    let dying = '';
    const { database, functions, traffic } = service.engine;
    const endFault = traffic.addFault(({ caller, action, input, invocation = '' }) => {
      if (caller !== rotator) return undefined;
      transactionId = action === 'CommitTransaction' && when === 'after' ? undefined : input?.transactionId;
      if (seen++ !== index) return undefined;
      dying = invocation;
      return { when, drop: true, action: () => functions.invocation(invocation)?.kill() };
    });
    const before = await current(arn);
    await service.secretsManager.send(new RotateSecretCommand({ SecretId: arn }));
    const isDead = () => (seen > index && !functions.invocation(dying) ? true : undefined);
    await until(isDead, `the end at call ${index} of the rotation`);
    endFault();
    // As the Data API does automatically after three minutes. Here a transaction holds up everything else.
    if (typeof transactionId === 'string') await database.end(transactionId, 'ROLLBACK');
    await database.run('select 1 from sda.files', [], { login: await current(arn) });
    await database.run('select 1 from sda.files', [], { login: before });
    if ((await settledVersion(arn)) === undefined) {
      // When the new version is current, the rotation counts as complete, and the attempt is another one.
      const isCurrent = (await current(arn)).username !== before.username;
      const reply = await service.secretsManager.send(new RotateSecretCommand({ SecretId: arn })).catch(String);
      if (!isCurrent) expect(reply).toContain("A previous rotation isn't complete");
    }
    await until(() => settledVersion(arn), `the rotation to go through after call ${index}, ${when}`);
    const after = await current(arn);
    expect(after.password).not.toBe(before.password);
    await database.run('select 1 from sda.files', [], { login: after });
  }
  await expectServed();
}, 300_000);

test('no password is in a log or in a statement', async () => {
  expect(logins.size).toBeGreaterThan(15);
  expect(statements.filter((statement) => statement.includes('SCRAM-SHA-256$')).length).toBeGreaterThan(10);
  const written = [...service.logs.map(({ line }) => line), ...statements].join('\n');
  for (const { username, password } of logins.values()) {
    expect(written.includes(password), `a password of ${username} in a log or a statement`).toBe(false);
  }
});

test('without the schedules, and after a restart, the secrets work as they are', async () => {
  const before = await Promise.all([...secretArns.values()].map(current));
  await service.stop();
  service = await start();
  expect(service.engine.functions.names).not.toContain(rotator);
  expect(await Promise.all([...secretArns.values()].map(current))).toEqual(before);
  await expectServed();
}, 120_000);
