import { setTimeout as pause } from 'node:timers/promises';
import type { Connection } from '../contract/connection.ts';
import { encrypt, formatPublicKey, generateKeyPair, type KeyPair, publicKeyFingerprint } from '../crypt4gh/index.ts';
import { type AddedFile, addFile } from '../ops/archive/add-file.ts';
import { readArchiveKeys } from '../ops/archive-keys.ts';
import { setDatasetEvent } from '../ops/commands/dataset.ts';
import { issueVisa } from '../ops/local-issuer.ts';
import type { Target } from '../ops/ports.ts';
import { formatBytes } from '../terminal/output.ts';
import { demonstrateDirectAccess } from './direct.ts';
import { DirectCaller } from './direct-caller.ts';
import { bytesOf, type MadeFile } from './made-files.ts';
import { type ListedFile, ProxyCaller } from './proxy.ts';
import { receive } from './receive.ts';
import { expectThat, type Steps } from './steps.ts';

/** Datasets of the demonstration. */
const released = 'EGAD90000000001';
const unreleased = 'EGAD90000000002';

const mebibyte = 1024 * 1024;
const files: readonly (MadeFile & { readonly form: 'plaintext' | 'Crypt4GH' })[] = [
  { path: 'empty.txt', size: 0, form: 'plaintext' },
  { path: 'prøve 1/notes (draft).txt', size: 6000, form: 'plaintext' },
  { path: 'prøve 2/notes (draft).txt', size: 200_000, form: 'Crypt4GH' },
  { path: 'genome.bam', size: 70 * mebibyte, form: 'plaintext' },
];
const secretFile: MadeFile = { path: 'not-yet.bam', size: 5000 };

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
 * stream and decrypt as the recipient; the same files by direct access; then what must stage nothing.
 * @throws StepFailure, which names the step that did not hold
 */
export async function demonstrate(stage: Stage): Promise<void> {
  const proxy = new ProxyCaller(stage.connection, stage.signal);
  const { archived, hidden } = await fillArchive(stage);
  const recipient = await makeRecipient(stage);
  const visa = await visaFor(stage, 'researcher', released);
  await exportReleased(stage, proxy, recipient, visa);
  const listed = await waitForFiles(stage, proxy, visa, archived.length);
  for (const file of archived) await download(stage, proxy, { file, listed, visa, recipient });
  const direct = new DirectCaller(stage.connection, stage.signal);
  const { steps } = stage;
  await demonstrateDirectAccess({ direct, steps, visa, datasetId: released, files: archived, hidden, recipient });
  await refusals(stage, proxy, recipient);
}

async function fillArchive({ target, steps, signal }: Stage) {
  const keys = await readArchiveKeys(target.archiveKeys);
  const archive = (file: MadeFile, form: string, datasetId: string) =>
    steps.run(`archive ${file.path}`, async () => {
      const plain = bytesOf(file);
      const asGiven = form === 'Crypt4GH' ? encrypt(plain, { recipients: [keys[0].publicKey] }) : plain;
      const input = { label: file.path, size: undefined, bytes: asGiven };
      const value = await addFile(target, { datasetId, path: file.path, input, keys, signal });
      expectThat(value.decryptedSize === file.size, `${value.decryptedSize} bytes were archived, not ${file.size}`);
      return { value, detail: `${formatBytes(file.size)} as ${form}, ${value.fileId} in ${datasetId}` };
    });
  const added: AddedFile[] = [];
  for (const file of files) added.push(await archive(file, file.form, released));
  const hidden = { file: await archive(secretFile, 'plaintext', unreleased), datasetId: unreleased };
  await steps.run(`release ${released}`, async () => {
    const summary = await setDatasetEvent(target, released, 'released');
    return {
      value: summary,
      detail: `${summary.files} files, ${formatBytes(summary.bytes)}; ${unreleased} stays as it is`,
    };
  });
  return { archived: added, hidden };
}

function makeRecipient({ steps }: Stage): Promise<KeyPair> {
  return steps.run("make the recipient's key pair", async () => {
    const value = generateKeyPair();
    return { value, detail: `X25519, fingerprint ${publicKeyFingerprint(value.publicKey).slice(0, 16)}…` };
  });
}

function visaFor({ connection }: Stage, subject: string, datasetId: string, age = 0): Promise<string> {
  const issuedAt = new Date(Date.now() - age);
  const expiresAt = new Date(issuedAt.getTime() + hour);
  return issueVisa(connection.issuer, { subject, datasetIds: [datasetId], issuedAt, expiresAt });
}

async function exportReleased({ steps }: Stage, proxy: ProxyCaller, recipient: KeyPair, visa: string): Promise<void> {
  await steps.run(`export ${released} as administrator`, async () => {
    const publicKey = formatPublicKey(recipient.publicKey);
    const requestId = await proxy.exportDataset({ datasetId: released, visa, publicKey });
    return { value: requestId, detail: `200, request ${requestId}` };
  });
}

function waitForFiles(stage: Stage, proxy: ProxyCaller, visa: string, count: number): Promise<readonly ListedFile[]> {
  return stage.steps.run('list the outbox until all is there', async () => {
    const value = await poll(stage, async () => {
      const listed = await proxy.listOutbox(visa);
      return listed.length < count ? undefined : listed;
    });
    expectThat(value.length === count, `${value.length} files are listed, not ${count}`);
    const { bytesRead, partsCopied } = stage.stagingCost();
    expectThat(partsCopied > 0, 'S3 copied no part of a body by itself');
    const size = formatBytes(value.reduce((sum, each) => sum + each.size, 0));
    return {
      value,
      detail: `${count} files, ${size}; ${formatBytes(bytesRead)} went through the function, S3 copied the rest`,
    };
  });
}

async function download(
  { steps }: Stage,
  proxy: ProxyCaller,
  order: { file: AddedFile; listed: readonly ListedFile[]; visa: string; recipient: KeyPair },
): Promise<void> {
  const { file, listed, visa, recipient } = order;
  await steps.run(`stream and decrypt ${file.path}`, async () => {
    const found = listed.find(({ fileName }) => fileName.startsWith(`${file.fileId}-`));
    expectThat(found !== undefined, `no listed file is ${file.fileId}`);
    const got = await receive(await proxy.stream(visa, found.fileName), recipient.privateKey);
    expectThat(got.containerSize === found.size, `${got.containerSize} bytes came, ${found.size} were listed`);
    expectThat(got.bodySha256 === file.archivedSha256, 'the body is not the one in the archive');
    expectThat(got.plaintextSha256 === file.sha256, 'the SHA-256 of the plaintext is another one');
    const same = `${got.headerSize} bytes of new header, body unchanged, SHA-256 ${file.sha256.slice(0, 16)}… is right`;
    return { value: got, detail: `${formatBytes(got.plaintextSize)} by 307 from S3, ${same}` };
  });
}

/** Three exports that the proxy accepts and the data-out side refuses. Nobody is told; the audit trail says why. */
async function refusals(stage: Stage, proxy: ProxyCaller, recipient: KeyPair): Promise<void> {
  const subject = 'somebody-else';
  const publicKey = formatPublicKey(recipient.publicKey);
  const attempts = [
    ['a dataset that is not released', unreleased, await visaFor(stage, subject, unreleased), 'not_released'],
    ['a visa for another dataset', released, await visaFor(stage, subject, unreleased), 'not_entitled'],
    ['an expired visa', released, await visaFor(stage, subject, released, 2 * hour), 'visa_expired'],
  ] as const;
  for (const [title, datasetId, visa, reason] of attempts) {
    await stage.steps.run(`export with ${title}`, async () => {
      const requestId = await proxy.exportDataset({ datasetId, visa, publicKey });
      const row = await poll(stage, () => newestRow(stage, requestId));
      expectThat(row.event === 'rejected', `the audit trail says "${row.event}", not "rejected"`);
      expectThat(row.reason === reason, `the reason is "${row.reason}", not "${reason}"`);
      return { value: row, detail: `200 at once, then rejected: ${reason}` };
    });
  }
  await stage.steps.run('list the outbox of those three', async () => {
    const listed = await proxy.listOutbox(await visaFor(stage, subject, released));
    expectThat(listed.length === 0, `${listed.length} files were staged`);
    return { value: listed, detail: 'empty, nothing was staged' };
  });
}

async function newestRow({ target }: Stage, requestId: string) {
  for await (const row of target.audit.newest({ requestId }, 1)) return row;
  return undefined;
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
