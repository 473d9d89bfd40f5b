/**
 * One job of the Crypt4GH benchmark in its own process, so that its memory is its own:
 * `node crypt4gh-job.ts encrypt|decrypt|encrypt-stream|decrypt-stream|ranges|headers …`, JSON on standard output.
 */
import { randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { serializeHeader } from '../lib/crypt4gh/header/header.ts';
import { sealingKey, sealPackets } from '../lib/crypt4gh/header/packets.ts';
import { encodePayloads } from '../lib/crypt4gh/header/payloads.ts';
import {
  decrypt,
  decryptFile,
  encrypt,
  encryptFile,
  fileSource,
  generateKeyPair,
  openContainer,
  publicKeyOf,
  reencryptHeader,
  SegmentWorkers,
} from '../lib/crypt4gh/index.ts';
import { importPrivateKey } from '../lib/crypt4gh/keys/x25519.ts';
import { chunksOf, writeAll } from './file-io.ts';

/** The figures of one job. */
export interface JobResult {
  readonly seconds: number;
  /** Seconds of processor time, all threads. */
  readonly cpu: number;
  readonly peakBytes: number;
  /** Number of operations, for a job without a file. */
  readonly done?: number;
}

const mib = 2 ** 20;
/** Beside the bundle of this file. */
const workerUrl = new URL('./segment-worker.mjs', import.meta.url);

/** @param threads 1: on this thread, as a stream. More: on threads that read and write independently. */
async function encryptAll(key: Buffer, source: string, target: string, threads: number): Promise<void> {
  await using input = await open(source);
  await using output = await open(target, 'w');
  const recipients = [publicKeyOf(key)];
  if (threads === 1) return await writeAll(output.fd, encrypt(chunksOf(input.fd), { recipients }));
  await using workers = new SegmentWorkers({ threads, workerUrl });
  await encryptFile(input, output, { recipients, workers });
}

async function decryptAll(key: Buffer, source: string, target: string, threads: number): Promise<void> {
  await using input = await open(source);
  await using output = await open(target, 'w');
  const privateKeys = [key];
  if (threads === 1) return await writeAll(output.fd, decrypt(chunksOf(input.fd), { privateKeys }));
  await using workers = new SegmentWorkers({ threads, workerUrl });
  await decryptFile(input, output, { privateKeys, workers });
}

/** As in a service or a pipe: the bytes pass the calling thread, from and to streams of Node. */
async function throughStreams(
  job: string,
  key: Buffer,
  source: string,
  target: string,
  threads: number,
): Promise<void> {
  await using workers = new SegmentWorkers({ threads, workerUrl });
  const input = createReadStream(source);
  const output =
    job === 'encrypt-stream'
      ? encrypt(input, { recipients: [publicKeyOf(key)], workers })
      : decrypt(input, { privateKeys: [key], workers });
  await pipeline(output, createWriteStream(target));
}

/** Ranges of 1 MiB at random places, one after the other. */
async function readRanges(key: Buffer, source: string, count: number): Promise<number> {
  await using file = await open(source);
  const reader = await openContainer(await fileSource(file), { privateKeys: [key] });
  const size = reader.size ?? 0;
  for (let done = 0; done < count; done += 1) {
    const { length } = await reader.read(Math.floor(Math.random() * (size - mib)), mib);
    if (length !== mib) throw new Error(`expected a range of 1 MiB, got ${length} bytes`);
  }
  return count;
}

/** Headers of `writers` different writers, rebuilt for one recipient. */
function rebuildHeaders(seconds: number, writers: number): number {
  const archive = generateKeyPair();
  const recipient = generateKeyPair();
  const writer = () => sealingKey(importPrivateKey(randomBytes(32)), archive.publicKey);
  const keys = Array.from({ length: writers }, writer);
  const headers = Array.from({ length: 2_000 }, (_, index) => {
    const payloads = encodePayloads([{ type: 'data-key', key: randomBytes(32) }]);
    return serializeHeader(sealPackets(payloads, keys[index % writers] ?? writer(), () => randomBytes(12)));
  });
  const derivation = { secret: archive.privateKey, context: 'EGAF00000000001' };
  const rebuild = (header: Uint8Array) =>
    reencryptHeader({ header, readerKeys: [archive.privateKey], recipients: [recipient.publicKey], derivation });
  // Runs first, so that the compiler has seen the code.
  headers.forEach(rebuild);
  restart();
  let done = 0;
  for (; cpuSeconds() < seconds; done += 100) {
    const start = done % headers.length;
    headers.slice(start, start + 100).forEach(rebuild);
  }
  return done;
}

let startedAt = performance.now();
let startedCpu = process.cpuUsage();

function restart(): void {
  startedAt = performance.now();
  startedCpu = process.cpuUsage();
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage(startedCpu);
  return (user + system) / 1e6;
}

async function main(job = '', ...rest: readonly string[]): Promise<void> {
  const [first = '', source = '', third = '', threads = '1'] = rest;
  const key = Buffer.from(first, 'hex');
  restart();
  let done: number | undefined;
  if (job === 'headers') done = rebuildHeaders(Number(first), Number(source));
  else if (job === 'ranges') done = await readRanges(key, source, Number(third));
  else if (job === 'encrypt') await encryptAll(key, source, third, Number(threads));
  else if (job === 'decrypt') await decryptAll(key, source, third, Number(threads));
  else if (job.endsWith('-stream')) await throughStreams(job, key, source, third, Number(threads));
  else throw new RangeError(`there is no job ${job}`);
  const result: JobResult = {
    seconds: (performance.now() - startedAt) / 1_000,
    cpu: cpuSeconds(),
    peakBytes: process.resourceUsage().maxRSS * 1_024,
    ...(done === undefined ? {} : { done }),
  };
  process.stdout.write(JSON.stringify(result));
}

await main(...process.argv.slice(2));
