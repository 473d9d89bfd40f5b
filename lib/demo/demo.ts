import { setTimeout as pause } from 'node:timers/promises';
import type { ListedFile, ProxyApi } from '../client/proxy.ts';
import type { Connection } from '../contract/connection.ts';
import { isReceiptName } from '../contract/delivery.ts';
import { formatPublicKey, generateKeyPair, type KeyPair, publicKeyFingerprint } from '../crypt4gh/index.ts';
import { setDatasetEvent } from '../ops/commands/dataset.ts';
import { issueVisa } from '../ops/local-issuer.ts';
import type { Target } from '../ops/ports.ts';
import { readArchiveKeys } from '../ops/secrets/archive-keys.ts';
import { formatBytes } from '../terminal/output.ts';
import { demonstrateDirectAccess } from './direct.ts';
import { type ArchivedFile, archiveFile, expectStaged, type MadeFile } from './files.ts';
import { expectThat, type Steps } from './steps.ts';
import { Users } from './users.ts';

/** Datasets of the demonstration. */
const released = 'EGAD90000000001';
const unreleased = 'EGAD90000000002';

const mebibyte = 1024 * 1024;
const files: readonly MadeFile[] = [
  { path: 'empty.txt', size: 0, form: 'plaintext' },
  { path: 'prøve (1)/notes.txt', size: 6000, form: 'plaintext' },
  { path: 'prøve (2)/notes.txt', size: 200_000, form: 'Crypt4GH' },
  { path: 'genome.bam', size: 70 * mebibyte, form: 'plaintext' },
];
const secretFile: MadeFile = { path: 'not-yet.bam', size: 5000, form: 'plaintext' };

/** How long exports may take: the polls give up after this. */
const patience = 40_000;
const pollPeriod = 200;
const hour = 3_600_000;

/** What staging has cost so far. */
export interface StagingCost {
  /** Bytes of archived bodies that the function read. */
  readonly bytesRead: number;
  /** Parts that S3 copied by itself. */
  readonly partsCopied: number;
}

/** Everything the steps share. */
export interface Stage {
  readonly connection: Connection;
  readonly target: Target;
  readonly stagingCost: () => StagingCost;
  readonly steps: Steps;
  readonly signal: AbortSignal;
}

/**
 * Export to download, on a running engine: fill the archive with the operator's tool, export as an administrator, list,
 * stream and decrypt as the recipient; the same files by direct access, unless it is off; then what must stage nothing.
 * @throws StepFailure, which names the step that did not hold
 */
export async function demonstrate(stage: Stage): Promise<void> {
  await using users = new Users(stage.connection);
  const { archived, hidden } = await fillArchive(stage);
  const recipient = await makeRecipient(stage);
  const visa = await visaFor(stage, 'researcher', released);
  await exportReleased(stage, users, recipient, visa);
  const proxy = users.researcher(visa);
  const listed = await waitForFiles(stage, proxy, archived.length);
  for (const file of archived) await download(stage, proxy, { file, listed, recipient });
  const { connection, steps, signal } = stage;
  if (connection.dataOutUrl !== undefined) {
    const datasetId = released;
    await demonstrateDirectAccess({ users, steps, signal, visa, datasetId, files: archived, hidden, recipient });
  }
  await refusals(stage, users, recipient);
}

async function fillArchive({ target, steps, signal }: Stage) {
  const keys = await readArchiveKeys(target.archiveKeys);
  const archive = ({ path, size, form }: MadeFile, datasetId: string) =>
    steps.run(`archive ${path}`, async () => {
      const value = await archiveFile(target, { datasetId, path, size, form, keys, signal });
      return { value, detail: `${formatBytes(size)} as ${form}` };
    });
  const archived: ArchivedFile[] = [];
  for (const file of files) archived.push(await archive(file, released));
  const hidden = { file: await archive(secretFile, unreleased), datasetId: unreleased };
  await steps.run(`release ${released}`, async () => {
    const summary = await setDatasetEvent(target, released, 'released');
    return { value: summary, detail: `${summary.files} files, ${formatBytes(summary.bytes)}` };
  });
  return { archived, hidden };
}

function makeRecipient({ steps }: Stage): Promise<KeyPair> {
  return steps.run("make the recipient's key pair", async () => {
    const value = generateKeyPair();
    return { value, detail: `fingerprint ${publicKeyFingerprint(value.publicKey).slice(0, 16)}…` };
  });
}

function visaFor({ connection }: Stage, subject: string, datasetId: string, age = 0): Promise<string> {
  const issuedAt = new Date(Date.now() - age);
  const expiresAt = new Date(issuedAt.getTime() + hour);
  return issueVisa(connection.issuer, { subject, datasetIds: [datasetId], issuedAt, expiresAt });
}

async function exportReleased(stage: Stage, users: Users, recipient: KeyPair, visa: string): Promise<void> {
  const { steps, signal } = stage;
  await steps.run(`export ${released} as administrator`, async () => {
    const publicKey = formatPublicKey(recipient.publicKey);
    const { requestId } = await users.administrator().export({ id: released, visa, publicKey }, { signal });
    return { value: requestId, detail: `200, request ${requestId.slice(0, 8)}…` };
  });
}

function waitForFiles(stage: Stage, proxy: ProxyApi, count: number): Promise<readonly ListedFile[]> {
  return stage.steps.run('list the outbox', async () => {
    const value = await poll(stage, async () => {
      const everything = await allOf(proxy.list({ signal: stage.signal }));
      const listed = everything.filter(({ name }) => !isReceiptName(name));
      return listed.length < count ? undefined : listed;
    });
    expectThat(value.length === count, `${value.length} files are listed, not ${count}`);
    const { bytesRead, partsCopied } = stage.stagingCost();
    expectThat(partsCopied > 0, 'S3 copied no part of a body by itself');
    const size = formatBytes(value.reduce((sum, each) => sum + each.size, 0));
    return {
      value,
      detail: `${size}, of which ${formatBytes(bytesRead)} through a function`,
    };
  });
}

async function download(
  { steps, signal }: Stage,
  proxy: ProxyApi,
  order: { file: ArchivedFile; listed: readonly ListedFile[]; recipient: KeyPair },
): Promise<void> {
  const { file } = order;
  await steps.run(`stream and decrypt ${file.path}`, async () => {
    await expectStaged(proxy, order, signal);
    return { value: undefined, detail: `${formatBytes(file.decryptedSize)}, SHA-256 is right` };
  });
}

/** Three exports that the proxy accepts and the data-out side rejects. There is no reply; the audit trail says why. */
async function refusals(stage: Stage, users: Users, recipient: KeyPair): Promise<void> {
  const { signal } = stage;
  const subject = 'another-researcher';
  const publicKey = formatPublicKey(recipient.publicKey);
  const attempts = [
    ['an unreleased dataset', unreleased, await visaFor(stage, subject, unreleased), 'not_released'],
    ["another dataset's visa", released, await visaFor(stage, subject, unreleased), 'not_entitled'],
    ['an expired visa', released, await visaFor(stage, subject, released, 2 * hour), 'visa_expired'],
  ] as const;
  for (const [title, datasetId, visa, reason] of attempts) {
    await stage.steps.run(`export with ${title}`, async () => {
      const { requestId } = await users.administrator().export({ id: datasetId, visa, publicKey }, { signal });
      const row = await poll(stage, () => newestRow(stage, requestId));
      expectThat(row.event === 'rejected', `the audit trail says "${row.event}", not "rejected"`);
      expectThat(row.reason === reason, `the reason is "${row.reason}", not "${reason}"`);
      return { value: row, detail: `200, rejected: ${reason}` };
    });
  }
  await stage.steps.run('list the outbox of those three', async () => {
    const listed = await allOf(users.researcher(await visaFor(stage, subject, released)).list({ signal }));
    expectThat(listed.length === 0, `${listed.length} files were staged`);
    return { value: listed, detail: 'empty, nothing was staged' };
  });
}

async function newestRow({ target }: Stage, requestId: string) {
  for await (const row of target.audit.newest({ requestId }, 1)) return row;
  return undefined;
}

async function allOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Ask until there is an answer. @throws OpsError `verification_failed` when it takes too long */
async function poll<T>({ signal }: Stage, ask: () => Promise<T | undefined>): Promise<T> {
  const giveUp = Date.now() + patience;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    expectThat(Date.now() < giveUp, `nothing after ${patience / 1000} s`);
    await pause(pollPeriod, undefined, { signal });
  }
}
