import { PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatPublicKey, generateKeyPair } from '../../../lib/crypt4gh/index.ts';
import { collect } from '../../helpers/crypt4gh-vectors.ts';
import { bytesOf } from '../../helpers/made-files.ts';
import { type Finding, findSecrets, type Secret, type Trace } from '../../helpers/secret-search.ts';
import { Service } from '../../helpers/service.ts';
import {
  archivePrivateKey,
  derivedSenderKey,
  engineSecrets,
  sessionTokens,
  tokenSecrets,
} from '../../helpers/service-secrets.ts';
import { TraceRecorder } from '../../helpers/traces.ts';

/**
 * As `secrets.test.ts`, for the direct API: calls that succeed, are refused or break, then a search for every secret.
 */

const dataset = 'EGAD1';
const drs = 'ga4gh/drs/v1/objects';
const reader = generateKeyPair();
const key = { 'Public-Key': formatPublicKey(reader.publicKey).replaceAll('\n', '') };
const json = { 'Content-Type': 'application/json' };
const small = { path: 'small.bin', size: 200_000 };
const large = { path: 'large.bin', size: 9 * 2 ** 20 };
const damaged = { path: 'damaged.bin', size: 200_001 };
const asContainer = 'destinationFormat=CRYPT4GH';

let service: Service;
let secrets: Secret[];
let traces: readonly Trace[];
let findings: readonly Finding[];
const ids = new Map<string, string>();
const idOf = ({ path }: { path: string }) => ids.get(path) ?? '';

beforeAll(async () => {
  service = await Service.shared();
  const plaintexts: Secret[] = [];
  for (const file of [small, large, damaged]) {
    ids.set(file.path, (await service.archive(dataset, file.path, file.size)).fileId);
    const plaintext = await collect(bytesOf(file));
    for (const at of [0, 70_000, 150_000]) {
      plaintexts.push({ name: `plaintext of ${file.path} at ${at}`, value: plaintext.subarray(at, at + 32) });
    }
  }
  await service.setDataset(dataset, 'released');
  const sender = derivedSenderKey({ archiveKey: await archivePrivateKey(service), recipient: reader.publicKey });
  secrets = [
    ...(await engineSecrets(service)),
    ...plaintexts,
    { name: 'private key of the reader', value: reader.privateKey },
    { name: 'sender key', value: sender },
  ];
  await damageLastSegment();
  const recorder = new TraceRecorder(service);
  await served();
  await refused();
  await broken();
  traces = await recorder.end();
  findings = findSecrets(secrets, traces);
});
afterAll(() => service?.stop());

/** A token, remembered as a secret. */
async function visa(name: string, choices: Parameters<Service['visa']>[0] = {}): Promise<string> {
  const token = await service.visa({ datasetId: dataset, subject: name, ...choices });
  secrets.push(...tokenSecrets(`visa of ${name}`, token));
  return token;
}

async function damageLastSegment(): Promise<void> {
  const [[Key = ''] = []] = await service.sql(
    `select archive_file_path from sda.files where stable_id = '${idOf(damaged)}'`,
  );
  const Body = await service.object('ArchiveBucketName', Key ?? '');
  Body[Body.length - 1] = (Body.at(-1) ?? 0) ^ 1;
  await service.s3.send(
    new PutObjectCommand({ Bucket: service.connection.outputs.ArchiveBucketName, Key: Key ?? '', Body }),
  );
}

/** Status of a reply, read to its end; `undefined` when it broke off. */
async function statusOf(path: string, token: string | undefined, init: RequestInit = {}): Promise<number | undefined> {
  const Authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const url = `${service.connection.dataOutUrl.replace(/\/$/, '')}/${path}`;
  try {
    const response = await fetch(url, { redirect: 'manual', ...init, headers: { ...Authorization, ...init.headers } });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return undefined;
  }
}

async function served(): Promise<void> {
  const token = await visa('a reader');
  for (const path of ['metadata/datasets', `metadata/datasets/${dataset}/files`, `files/${idOf(small)}`]) {
    expect(await statusOf(path, token)).toBe(200);
  }
  expect(await statusOf(`files/${idOf(small)}`, token, { headers: { Range: 'bytes=70000-149999' } })).toBe(206);
  expect(await statusOf(`files/${idOf(large)}?startCoordinate=70000&endCoordinate=70100`, token)).toBe(200);
  for (const [file, streamed] of [
    [small, 200],
    [large, 307],
  ] as const) {
    const path = `files/${idOf(file)}`;
    expect(await statusOf(`${path}?${asContainer}`, token, { headers: key })).toBe(streamed);
    for (const query of ['&redirect=false', '&startCoordinate=1&endCoordinate=100000']) {
      expect(await statusOf(`${path}?${asContainer}${query}`, token, { headers: key })).toBe(200);
    }
    expect(await statusOf(`${path}/header`, token, { headers: key })).toBe(200);
    expect(await statusOf(`${path}/content`, token)).toBe(307);
    expect(await statusOf(path, token, { method: 'HEAD' })).toBe(200);
  }
  const body = JSON.stringify({ passports: [await service.passport('a reader', [token])] });
  for (const path of [`${drs}/${idOf(small)}`, `${drs}/${idOf(small)}/access/plaintext`]) {
    expect(await statusOf(path, token)).toBe(200);
    expect(await statusOf(path, undefined, { method: 'POST', headers: json, body })).toBe(200);
  }
}

async function refused(): Promise<void> {
  const token = await visa('a refused reader');
  const privateKey = Buffer.from(reader.privateKey);
  const file = `files/${idOf(small)}`;
  for (const query of [`destinationFormat=${token}`, `startCoordinate=${token}&endCoordinate=1`, `redirect=${token}`]) {
    expect(await statusOf(`${file}?${query}`, token)).toBe(400);
  }
  for (const value of [token, privateKey.toString('hex'), `-----BEGIN CRYPT4GH PRIVATE KEY-----${token}`]) {
    expect(await statusOf(`${file}?${asContainer}`, token, { headers: { 'Public-Key': value } })).toBe(400);
    expect(await statusOf(`${file}/header`, token, { headers: { ...key, 'X-C4GH-Public-Key': value } })).toBe(400);
  }
  expect(await statusOf(file, token, { headers: { 'If-Match': `"${token}"` } })).toBe(412);
  const bad = [
    await visa('late', { claims: { exp: 1 } }),
    await visa('a stranger', { claims: { iss: 'https://other.example/' } }),
    `${await visa('garbled')}.x`,
  ];
  for (const path of ['metadata/datasets', file, `${drs}/${idOf(small)}`]) {
    for (const each of bad) expect(await statusOf(path, each)).toBe(401);
    expect(await statusOf(path, token, { headers: { Authorization: `Basic ${token}` } })).toBe(401);
  }
  const other = await visa('another recipient', { datasetId: 'EGAD9' });
  for (const path of [file, `${file}/content`, `metadata/datasets/${dataset}/files`, `${drs}/${idOf(small)}`]) {
    expect(await statusOf(path, other)).toBe(403);
  }
  for (const [status, body] of [
    [400, `{"passports":["${token}"`],
    [400, JSON.stringify({ passports: { token } })],
    [400, JSON.stringify({ passports: [token], object: token })],
    [400, JSON.stringify([token])],
    [401, JSON.stringify({ passports: bad })],
    [403, JSON.stringify({ passports: [other, ...bad], [token]: 1 })],
  ] as const) {
    const init = { method: 'POST', headers: json, body };
    expect(await statusOf(`${drs}/${idOf(small)}/access/plaintext`, undefined, init)).toBe(status);
  }
}

/** Every call to AWS fails once for good and breaks off once. Then a body is damaged. */
async function broken(): Promise<void> {
  const token = await visa('a patient reader');
  const faults = [{ error: { status: 403, code: 'AccessDenied', message: 'denied on purpose' } }, { drop: true }];
  const container = `files/${idOf(large)}?${asContainer}`;
  for (const fault of faults) {
    for (const [index, [path, action]] of [
      [`files/${idOf(small)}`, 'HeadObject'],
      [`files/${idOf(small)}`, 'GetObject'],
      [`files/${idOf(small)}`, 'ExecuteStatement'],
      [`metadata/datasets/${dataset}/files`, 'ExecuteStatement'],
      [`${drs}/${idOf(small)}`, 'ExecuteStatement'],
      [container, 'CreateMultipartUpload'],
      [container, 'UploadPartCopy'],
      [container, 'CompleteMultipartUpload'],
    ].entries()) {
      const end = service.engine.traffic.addFault((call) => {
        if (call.action !== action || call.caller === 'operator') return undefined;
        end();
        return fault;
      });
      // Another container each time, because an existing one is not made again.
      const range = path === container ? `&startCoordinate=0&endCoordinate=${8 * 2 ** 20 + index}` : '';
      await statusOf(`${path}${range}`, token, path === container ? { headers: key } : {});
      end();
    }
  }
  expect(await statusOf(`files/${idOf(damaged)}`, token)).toBeUndefined();
}

test('the run left something in every kind of place', () => {
  const sources = new Set(traces.map(({ source }) => source));
  const direct = ['authorize-visa', 'datasets', 'direct-file', 'drs'];
  for (const name of [...direct, 'data-out-access']) {
    expect(sources).toContain(`log ${name}`);
    expect(sources).toContain(`log file ${name}.log`);
  }
  expect(sources).toContain('call of direct-file: s3 UploadPartCopy');
  expect(traces.some(({ source, text }) => source === 'object of OutboxBucketName' && text.includes('direct/'))).toBe(
    true,
  );
  for (const message of ['served', 'listed', 'described', 'refused', 'failed', 'reply broke off']) {
    expect(traces.some(({ text }) => text.includes(`"message":"${message}"`))).toBe(true);
  }
});

describe('secrets are found nowhere', () => {
  const isPlaintext = ({ secret, source }: Finding) =>
    secret.startsWith('plaintext of') && /^reply GET \/v1\/files\/[^/]+$/.test(source);
  const isEcho = ({ secret, source }: Finding) =>
    secret.startsWith('visa of a reader') &&
    /^reply (GET|POST) \/v1\/ga4gh\/drs\/v1\/objects\/[^/]+\/access\//.test(source);

  test('but the plaintext in the reply that was asked for it, and the caller’s token in the access URL of DRS', () => {
    expect(findings.filter((finding) => !isPlaintext(finding) && !isEcho(finding))).toEqual([]);
    expect(findings.some(isPlaintext)).toBe(true);
    expect(findings.some(isEcho)).toBe(true);
  });

  test('nor the session tokens of functions, but in the URLs that need one', () => {
    const found = findSecrets(sessionTokens(service), traces);
    expect(new Set(found.map(({ secret }) => secret))).toEqual(new Set(['session token of direct-file']));
    for (const { source } of found) expect(source).toMatch(/^reply GET \/v1\/files\//);
  });
});
