import { GetObjectCommand } from '@aws-sdk/client-s3';
import { forEachConcurrently } from '../../lib/common/concurrently.ts';
import { generateKeyPair, type KeyPair } from '../../lib/crypt4gh/index.ts';
import { readPlainly } from '../helpers/plain-crypt4gh.ts';
import type { Service } from '../helpers/service.ts';
import type { SoakFile } from './archive.ts';

/** Bytes of a Crypt4GH header with one packet (§ 2.2, § 3.2). */
const headerBytes = 124;

/** A researcher with a key, and the files that this researcher must get. */
export interface Recipient {
  readonly subject: string;
  readonly keys: KeyPair;
  readonly files: Map<string, SoakFile>;
}

export function newRecipient(subject: string): Recipient {
  return { subject, keys: generateKeyPair(), files: new Map() };
}

/** `fileId prefix`: what an export is about. */
export function pairOf(fileId: string | null, prefix: string | null): string {
  return `${fileId} ${prefix}`;
}

/**
 * Hold the outbox of a recipient against the files that belong there: each has one container, which is the header for
 * the recipient's key before the archived body, and opens to the file's plaintext.
 *
 * @returns the request that each container comes from, by {@link pairOf}
 * @throws Error that lists the containers that are missing, too many or wrong
 */
export async function checkOutbox(service: Service, recipient: Recipient): Promise<ReadonlyMap<string, string>> {
  const { subject, keys, files } = recipient;
  const prefix = service.prefix(subject);
  const names = (await service.outboxKeys(subject)).map((key) => key.slice(prefix.length + 1));
  const containers = names.filter((name) => name.endsWith('.c4gh'));
  const expected = new Map([...files.values()].map((file) => [file.container, file]));
  const wrong = containers.filter((name) => !expected.has(name)).map((name) => `${name}: not exported`);
  const there = new Set(containers);
  wrong.push(...[...expected.keys()].filter((name) => !there.has(name)).map((name) => `${name}: missing`));
  const requests = new Map<string, string>();
  const Bucket = service.connection.outputs.OutboxBucketName;
  await forEachConcurrently(containers, 4, async (name) => {
    const file = expected.get(name);
    if (file === undefined) return;
    const { Body, Metadata } = await service.s3.send(new GetObjectCommand({ Bucket, Key: `${prefix}/${name}` }));
    const container = Buffer.from((await Body?.transformToByteArray()) ?? []);
    requests.set(pairOf(file.fileId, prefix), Metadata?.['request-id'] ?? '');
    const { plaintext, body } = file.content;
    if (!container.subarray(headerBytes).equals(body)) wrong.push(`${name}: its body is not the archived one`);
    else if (!readPlainly(container, keys.privateKey).equals(plaintext)) wrong.push(`${name}: opens to other bytes`);
  });
  if (wrong.length > 0) throw new Error(`outbox of ${subject}:\n${wrong.slice(0, 20).join('\n')}`);
  return requests;
}
