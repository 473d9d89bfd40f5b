import { hkdfSync } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { openHeader } from '../../lib/crypt4gh/index.ts';
import { readArchiveKeys } from '../../lib/ops/secrets/archive-keys.ts';
import { jsonSecret } from '../../lib/ops/stores/json-secret.ts';
import { localTarget } from '../../lib/ops/target.ts';
import { secretsManagerClient } from '../../lib/service/stores/clients.ts';
import type { Secret } from './secret-search.ts';
import { basic, type Service } from './service.ts';

/** A token as a whole and in its parts; the first part is the same in many tokens. */
export function tokenSecrets(name: string, token: string): Secret[] {
  const [, payload = '', signature = ''] = token.split('.');
  return [
    { name, value: token },
    { name: `${name}, its payload`, value: payload },
    { name: `${name}, its signature`, value: signature },
  ];
}

/** A password, and the header that carries it. */
export function passwordSecrets(name: string, account: { username: string; password: string }): Secret[] {
  return [
    { name, value: account.password },
    { name: `${name}, its Basic header`, value: basic(account).slice('Basic '.length) },
  ];
}

/** The engine's own secrets, without those of its callers. */
export async function engineSecrets(service: Service): Promise<Secret[]> {
  const { accounts, functions } = service.engine;
  const { connection } = service;
  const issuer = JSON.parse(await readFile(connection.issuer.privateKeyPath, 'utf8')) as { d: string };
  const archiveKey = await archivePrivateKey(service);
  return [
    ...Object.entries(accounts).flatMap(([name, account]) => passwordSecrets(`password of ${name}`, account)),
    { name: 'private key of the issuer', value: Buffer.from(issuer.d, 'base64url') },
    { name: 'private key of the archive', value: archiveKey },
    { name: 'password of the database', value: await passwordIn(service, connection.outputs.DatabaseSecretArn) },
    { name: 'password of list and stream', value: await passwordIn(service, proxySecretArn(service)) },
    { name: 'password of the state of exports', value: await passwordIn(service, auditorSecretArn(service)) },
    { name: 'password of the direct API', value: await passwordIn(service, readerSecretArn(service)) },
    { name: 'password of the export', value: await passwordIn(service, workerSecretArn(service)) },
    { name: 'AWS secret key of the operator', value: connection.credentials.secretAccessKey },
    ...functions.names.map((name) => ({
      name: `AWS secret key of ${name}`,
      value: functions.definition(name).environment.AWS_SECRET_ACCESS_KEY ?? '',
    })),
    ...(await dataKeys(service, archiveKey)).map(({ fileId, dataKey }) => ({
      name: `session key of ${fileId}`,
      value: dataKey,
    })),
  ];
}

export async function archivePrivateKey({ connection }: Service): Promise<Uint8Array> {
  return (await readArchiveKeys(localTarget(connection).archiveKeys))[0].privateKey;
}

/** The session key of every archived file. */
export async function dataKeys(
  service: Service,
  archiveKey: Uint8Array,
): Promise<readonly { readonly fileId: string; readonly dataKey: Uint8Array }[]> {
  const rows = await service.sql('select stable_id, header from sda.files order by stable_id');
  return rows.map(([fileId, header]) => {
    const { dataKeys } = openHeader(Buffer.from(header ?? '', 'hex'), [archiveKey]);
    return { fileId: fileId ?? '', dataKey: dataKeys[0] ?? new Uint8Array() };
  });
}

/**
 * The private key that headers for a recipient are sealed with, by SECURITY.md: HKDF-SHA-256 (RFC 5869) of the archive's
 * private key over the recipient's key.
 */
export function derivedSenderKey(options: { archiveKey: Uint8Array; recipient: Uint8Array }): Uint8Array {
  const info = Buffer.concat([Buffer.of(0), options.recipient]);
  return new Uint8Array(hkdfSync('sha256', options.archiveKey, 'data-out crypt4gh header v2', info, 32));
}

/** The session token of each function. */
export function sessionTokens({ engine: { functions } }: Service): readonly Secret[] {
  return functions.names.map((name) => ({
    name: `session token of ${name}`,
    value: functions.definition(name).environment.AWS_SESSION_TOKEN ?? '',
  }));
}

/** The database secret of list and stream. */
export function proxySecretArn({ engine }: Service): string {
  return engine.functions.definition('authorize-outbox').environment.DATABASE_SECRET_ARN ?? '';
}

/** The database secret of the state of exports. */
export function auditorSecretArn({ engine }: Service): string {
  return engine.functions.definition('export-status').environment.DATABASE_SECRET_ARN ?? '';
}

/** The database secret of the direct API. */
export function readerSecretArn({ engine }: Service): string {
  return engine.functions.definition('direct-file').environment.DATABASE_SECRET_ARN ?? '';
}

/** The database secret of the queues' consumers. */
export function workerSecretArn({ engine }: Service): string {
  return engine.functions.definition('stage-file').environment.DATABASE_SECRET_ARN ?? '';
}

async function passwordIn({ connection }: Service, secretArn: string): Promise<string> {
  const { region, credentials, endpoints } = connection;
  const client = secretsManagerClient({ region, credentials, endpoint: endpoints.secretsManager });
  const secret = await jsonSecret({ client, secretArn }).read();
  return (secret as { password: string }).password;
}
