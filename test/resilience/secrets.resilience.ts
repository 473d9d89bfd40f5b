import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatPublicKey, generateKeyPair, publicKeyOf } from '../../lib/crypt4gh/index.ts';
import type { FaultRule } from '../../lib/local/endpoint/traffic.ts';
import { localTarget } from '../../lib/ops/target.ts';
import { type Finding, findSecrets, type Secret, type Trace } from '../helpers/secret-search.ts';
import { basic, Service, until } from '../helpers/service.ts';
import {
  archivePrivateKey,
  derivedSenderKey,
  engineSecrets,
  passwordSecrets,
  sessionTokens,
  tokenSecrets,
} from '../helpers/service-secrets.ts';
import { TraceRecorder } from '../helpers/traces.ts';

/**
 * One run with calls that succeed, are refused or break. Then everything that was written is searched for every secret.
 * `test/unit/helpers/secret-search.test.ts` proves that the search finds planted secrets.
 */

const released = 'EGAD00000000001';
const unreleased = 'EGAD00000000002';
const recipient = generateKeyPair();
const wrongPassword = 'not-the-right-passphrase-9';
let service: Service;
let secrets: Secret[];
let traces: readonly Trace[];
let findings: readonly Finding[];
/** The request whose containers are in the outbox at the end. */
let lastStaged: string;

beforeAll(async () => {
  service = await Service.start();
  for (const [path, size] of [
    ['small.txt', 2000],
    ['large.bam', 9 * 2 ** 20],
  ] as const)
    await service.archive(released, path, size);
  await service.archive(unreleased, 'withheld.txt', 10);
  await service.setDataset(released, 'released');

  secrets = [
    ...(await engineSecrets(service)),
    { name: 'private key of the recipient', value: recipient.privateKey },
    ...passwordSecrets('wrong password of admin', { username: 'admin', password: wrongPassword }),
    ...passwordSecrets('wrong password of archive user', { username: 'archive-user', password: wrongPassword }),
  ];
  const recorder = new TraceRecorder(service);
  await Promise.all([poisonMessages(), refusedExports()]);
  await brokenSecret();
  await exportsThroughFaults();
  await rejectedExports();
  await downloads();
  traces = await recorder.end();
  findings = findSecrets(secrets, traces);
});
afterAll(() => service?.stop());

/** A visa, remembered as a secret. */
async function visa(name: string, choices: Parameters<Service['visa']>[0] = {}): Promise<string> {
  const token = await service.visa({ datasetId: released, subject: name, ...choices });
  secrets.push(...tokenSecrets(`visa of ${name}`, token));
  return token;
}

/** The token with another signature, as a forger would send it. */
async function forged(name: string): Promise<string> {
  const [header, payload, signature = ''] = (await visa(name)).split('.');
  const token = [header, payload, [...signature].reverse().join('')].join('.');
  secrets.push(...tokenSecrets(`forged visa of ${name}`, token));
  return token;
}

/** Let calls fail, each rule once: some are refused for good, some break off. */
function once(matches: (call: Parameters<FaultRule>[0]) => boolean, fault: ReturnType<FaultRule>): () => void {
  const end = service.engine.traffic.addFault((call) => {
    if (!matches(call)) return undefined;
    end();
    return fault;
  });
  return end;
}
const denied = { error: { status: 403, code: 'AccessDeniedException', message: 'denied on purpose' } };

async function accepted(id: string, token: string, files = 1): Promise<string> {
  const requestId = await service.exported({ id, visa: token, publicKey: recipient.publicKey });
  await service.settled(requestId, files);
  return requestId;
}

/** Nothing of this is published. */
async function refusedExports(): Promise<void> {
  const token = await visa('a refused request');
  const good = { id: released, visaToken: token, userPublicKey: formatPublicKey(recipient.publicKey) };
  const { admin, archiveUser } = service.connection;
  const json = { 'Content-Type': 'application/json' };
  const statusOf = async (body: unknown, headers: Record<string, string> = {}) => {
    const Authorization = basic(admin);
    return (await service.export(body, { headers: { Authorization, ...json, ...headers } })).status;
  };

  once(({ caller }) => caller === 'authorize-admin', denied);
  expect(await statusOf(good)).toBe(503);
  for (const Authorization of [
    basic({ username: 'admin', password: wrongPassword }),
    basic(archiveUser),
    `Basic ${admin.password}`,
    `Bearer ${admin.password}`,
    `Bearer ${token}`,
    admin.password,
    `${basic(admin)} ${admin.password}`,
  ])
    expect(await statusOf(good, { Authorization })).toBe(401);
  expect(await statusOf(good, { Authorization: basic(service.engine.accounts.withoutRole) })).toBe(403);

  const privateKey = Buffer.from(recipient.privateKey);
  for (const body of [
    `{"visaToken":"${token}",`,
    `visaToken=${token}&password=${admin.password}`,
    JSON.stringify(token),
    [token, admin.password],
    { ...good, id: token },
    { ...good, id: [admin.password] },
    { ...good, type: token },
    { ...good, type: admin.password },
    { ...good, userPublicKey: token },
    { ...good, userPublicKey: privateKey.toString('hex') },
    { ...good, userPublicKey: `-----BEGIN CRYPT4GH PRIVATE KEY-----\n${privateKey.toString('base64')}` },
    { ...good, userPublicKey: { privateKey: privateKey.toString('base64') } },
    { ...good, visaToken: { token } },
    { ...good, visaToken: token.repeat(50) },
    { ...good, [token]: true },
    { ...good, visa: token, password: admin.password },
    { ...good, [privateKey.toString('hex')]: 1, [privateKey.toString('base64')]: 1 },
  ])
    expect(await statusOf(body)).toBe(400);
  expect(await statusOf(good, { 'Content-Type': token })).toBe(400);
  for (const path of [`export/fega/${token}`, `export/fega?state=${admin.password}&since=${token}&page=${token}`]) {
    expect((await fetch(service.url(path), { headers: { Authorization: basic(admin) } })).status).toBe(400);
  }

  const end = service.engine.traffic.addFault(({ caller, service: aws }) =>
    caller === 'export' && aws === 'sqs' ? { error: { status: 500, code: 'InternalError' } } : undefined,
  );
  expect(await statusOf(good)).toBe(503);
  end();
}

/** The archive's keys cannot be read at first: the secret is damaged, with the key still in it. */
async function brokenSecret(): Promise<void> {
  const { archiveKeys } = localTarget(service.connection);
  const kept = (await archiveKeys.read()) as { keys: { privateKey: string }[] };
  const damaged = kept.keys.map(({ privateKey }) => ({ privateKey: privateKey.replace(/-----END/, 'AA\n-----END') }));
  await archiveKeys.write({ keys: damaged });
  const requestId = await service.exported({
    id: released,
    visa: await visa('broken'),
    publicKey: recipient.publicKey,
  });
  await until(async () => service.logs.find(({ line }) => line.includes('MalformedSecretError')), 'a failure');
  await archiveKeys.write(kept);
  await service.settled(requestId, 2);
}

/** Each service refuses once, then breaks off once, for each consumer; a message is received five times at most. */
async function exportsThroughFaults(): Promise<void> {
  for (const fault of [denied, { drop: true }]) {
    const ends = [
      once(({ caller, service: aws }) => caller === 'consume-export' && aws === 'rds-data', fault),
      once(({ caller, action }) => caller === 'consume-export' && action === 'SendMessageBatch', fault),
      once(({ caller, service: aws }) => caller === 'stage-file' && aws === 'rds-data', fault),
      once(({ caller, action }) => caller === 'stage-file' && action === 'HeadObject', fault),
      once(({ caller, action }) => caller === 'stage-file' && action === 'GetObject', fault),
      once(({ caller, action }) => caller === 'stage-file' && action === 'UploadPartCopy', fault),
      once(({ caller, action }) => caller === 'stage-file' && action === 'PutObject', fault),
    ];
    lastStaged = await accepted(released, await visa('a patient recipient'), 2);
    for (const end of ends) end();
  }
}

async function rejectedExports(): Promise<void> {
  const hourAgo = Math.floor(Date.now() / 1000) - 3600;
  await Promise.all([
    accepted(released, await visa('expired', { claims: { exp: hourAgo } })),
    accepted(released, await visa('a stranger', { claims: { iss: 'https://other.example/' } })),
    accepted(released, await visa('other', { datasetId: 'EGAD9' })),
    accepted(unreleased, await visa('too early', { datasetId: unreleased })),
    accepted(released, await forged('a forger')),
    accepted(released, `${await visa('garbled')}.x`),
  ]);
}

/** Messages of other senders. They cannot be parsed, always fail, or stay in a dead-letter queue. */
async function poisonMessages(): Promise<void> {
  const { outputs } = service.connection;
  const token = await visa('a message');
  const publicKey = formatPublicKey(recipient.publicKey);
  const send = (QueueUrl: string, body: unknown, requestId = '') =>
    service.enqueue(QueueUrl, typeof body === 'string' ? body : JSON.stringify(body), {
      ...(requestId && { requestId }),
    });
  const good = { jwtToken: token, publicKey, datasetId: released };
  const unreadable = { ...good, [token]: 1 };
  await send(outputs.ExportRequestsQueueUrl, `{"jwtToken":"${token}","publicKey":`);
  await send(outputs.ExportRequestsQueueUrl, { ...good, jwtToken: [token] });
  await send(outputs.ExportRequestsQueueUrl, { ...good, publicKey: token });
  await send(outputs.ExportRequestsQueueUrl, unreadable);
  await send(outputs.ExportRequestsQueueUrl, good, token);
  await send(outputs.ExportRequestsDeadLetterQueueUrl, unreadable);

  const datasetId = 'EGAD-always-fails';
  service.engine.traffic.addFault(({ caller, input }) =>
    caller === 'consume-export' && JSON.stringify(input ?? {}).includes(datasetId) ? denied : undefined,
  );
  const requestId = randomUUID();
  await send(outputs.ExportRequestsQueueUrl, { ...good, datasetId }, requestId);
  expect(await service.settled(requestId)).toMatchObject([{ event: 'rejected', reason: 'failed', datasetId }]);
  await until(
    () =>
      service.logs.find(({ functionName, line }) => functionName === 'record-dead-letters' && /malformed/.test(line)),
    'the message that cannot be read to be tried',
  );
  await until(
    async () => ((await service.queueDepth(outputs.ExportRequestsDeadLetterQueueUrl)) === 1 ? true : undefined),
    'one dead letter',
  );
}

async function downloads(): Promise<void> {
  const token = await visa('a patient recipient');
  const { archiveUser } = service.connection;
  const [first] = await service.list(token);
  const name = first?.fileName ?? '';
  await service.download(token, name);
  const statusOf = async (path: string, headers: Record<string, string>, method = 'GET') =>
    (await fetch(service.url(path), { method, headers, redirect: 'manual' })).status;
  const both = service.researcher(token);
  expect(await statusOf(`stream/${name}`, both, 'HEAD')).toBe(200);
  expect(await statusOf(`stream/${name}?redirect=false`, both)).toBe(200);
  expect(await statusOf(`stream/${name}?redirect=${token}`, both)).toBe(400);
  expect(await statusOf(`stream/x?fileName=${token}`, both)).toBe(404);
  expect(await statusOf(`files?inbox=${token}`, both)).toBe(400);
  expect(await statusOf(`files?inbox=false&page=${archiveUser.password}`, both)).toBe(400);

  const bad = { Authorization: basic({ ...archiveUser, password: wrongPassword }) };
  for (const path of ['files?inbox=false', `stream/${name}`, `files?inbox=false&visaToken=${token}`]) {
    expect(await statusOf(path, {})).toBe(401);
    expect(await statusOf(path, { ...both, ...bad })).toBe(401);
    expect(await statusOf(path, { ...both, Authorization: `Basic ${archiveUser.password}` })).toBe(401);
    expect(await statusOf(path, { Authorization: `Bearer ${token}` })).toBe(401);
    expect(await statusOf(path, { ...both, 'X-GA4GH-Visa': archiveUser.password })).toBe(401);
    expect(await statusOf(path, { ...both, 'X-GA4GH-Visa': await forged('a forger') })).toBe(401);
    expect(await statusOf(path, { ...both, 'X-GA4GH-Visa': await visa('late', { claims: { exp: 1 } }) })).toBe(401);
  }
  for (const fault of [denied, { drop: true }]) {
    for (const [function_, path] of [
      ['files', 'files?inbox=false'],
      ['stream', `stream/${name}`],
    ] as const) {
      for (const aws of ['s3', 'rds-data'] as const) {
        const caller = aws === 's3' ? function_ : 'authorize-outbox';
        const end = once((call) => call.caller === caller && call.service === aws, fault);
        // A user that was looked up a moment ago is not looked up again; another one is.
        const user = { username: `user-of-${aws}-${function_}`, password: wrongPassword };
        await statusOf(path, aws === 's3' ? both : { ...both, Authorization: basic(user) });
        end();
      }
    }
  }
}

test('the run left something in every kind of place', () => {
  const sources = new Set(traces.map(({ source }) => source));
  const functions = [
    ...[
      'authorize-admin',
      'authorize-outbox',
      'export',
      'export-status',
      'files',
      'stream',
      'consume-export',
      'stage-file',
      'record-dead-letters',
    ],
    'proxy-access',
  ];
  for (const name of functions) {
    expect(sources).toContain(`log ${name}`);
    expect(sources).toContain(`log file ${name}.log`);
  }
  for (const source of ['table data_out.export_log', 'object of OutboxBucketName', 'object of ArchiveBucketName']) {
    expect(sources).toContain(source);
  }
  expect(sources).toContain('call of consume-export: sqs SendMessageBatch');
  expect(sources).toContain('reply GET /v1/files');
  for (const metric of ['ExportRequested', 'ExportRejected', 'ExportAccepted', 'FileStaged', 'MessageFailed']) {
    expect(traces.some(({ text }) => text.includes('"_aws"') && text.includes(metric))).toBe(true);
  }
});

test('the name of a request is found where it belongs: the search does look there', () => {
  const found = findSecrets([{ name: 'request id', value: lastStaged }], traces).map(({ source }) => source);
  expect(found).toEqual(
    expect.arrayContaining([
      'log export',
      'log stage-file',
      'log file stage-file.log',
      'table data_out.export_log',
      'object of OutboxBucketName',
      'reply POST /v1/export/fega',
      'call of consume-export: sqs SendMessageBatch',
    ]),
  );
});

describe('secrets are found nowhere', () => {
  test('except for the visa in the export request: not in a log line, a metric, a reply, a row, an object, a message or a call', () => {
    const places = findings.map(({ secret, source }) => `${secret.replace(/ of .*/, '')} in ${source}`);
    expect([...new Set(places)].sort()).toEqual([
      'forged visa in call of export: sqs SendMessage',
      'visa in call of export: sqs SendMessage',
    ]);
  });

  test('nor the session tokens of functions, but in the URLs that need one', () => {
    const found = findSecrets(sessionTokens(service), traces);
    expect(new Set(found.map(({ secret }) => secret))).toEqual(new Set(['session token of stream']));
    for (const { source } of found) expect(source).toMatch(/^reply GET \/v1\/stream\//);
  });

  test('nor the derived sender key of rebuilt headers', async () => {
    const sender = derivedSenderKey({
      archiveKey: await archivePrivateKey(service),
      recipient: recipient.publicKey,
    });
    const keys = await service.outboxKeys('a patient recipient');
    expect(keys).toHaveLength(2);
    for (const key of keys) {
      // Crypt4GH § 3.2.1: magic, version, count, then length, method and the writer's public key of the first packet.
      const writer = (await service.object('OutboxBucketName', key)).subarray(24, 56);
      expect(Buffer.from(publicKeyOf(sender))).toEqual(writer);
    }
    expect(findSecrets([{ name: 'sender key', value: sender }], traces)).toEqual([]);
  });
});
