/**
 * One job of the Crypt4GH benchmark in a process of its own, so that its memory is its own:
 * `node crypt4gh-job.ts encrypt|decrypt|ranges|headers …`, JSON on standard output.
 */
import { open } from 'node:fs/promises';
import {
  decrypt,
  encrypt,
  encryptHeader,
  fileSource,
  generateKeyPair,
  openContainer,
  publicKeyOf,
  reencryptHeader,
} from '../../lib/crypt4gh/index.ts';
import { chunksOf, writeAll } from './file-io.ts';

/** What a job says about itself. */
export interface JobResult {
  readonly seconds: number;
  /** Seconds of processor time, all threads. */
  readonly cpu: number;
  readonly peakBytes: number;
  /** Operations, where it is not about a file. */
  readonly done?: number;
}

const MIB = 2 ** 20;

async function encryptFile(key: Buffer, source: string, target: string): Promise<void> {
  await using input = await open(source);
  await using output = await open(target, 'w');
  await writeAll(output, encrypt(chunksOf(input), { recipients: [publicKeyOf(key)] }));
}

async function decryptFile(key: Buffer, source: string, target: string): Promise<void> {
  await using input = await open(source);
  await using output = await open(target, 'w');
  await writeAll(output, decrypt(chunksOf(input), { privateKeys: [key] }));
}

/** Ranges of 1 MiB at random places, one after the other. */
async function readRanges(key: Buffer, source: string, count: number): Promise<number> {
  await using file = await open(source);
  const reader = await openContainer(await fileSource(file), { privateKeys: [key] });
  const size = reader.size ?? 0;
  for (let done = 0; done < count; done += 1) {
    const { length } = await reader.read(Math.floor(Math.random() * (size - MIB)), MIB);
    if (length !== MIB) throw new Error(`expected a range of 1 MiB, got ${length} bytes`);
  }
  return count;
}

/** Headers of different writers, so that no key agreement can be remembered, rebuilt for one recipient. */
function rebuildHeaders(seconds: number): number {
  const archive = generateKeyPair();
  const recipient = generateKeyPair();
  const headers = Array.from({ length: 500 }, (_, index) =>
    encryptHeader({ dataKeys: [new Uint8Array(32).fill(index)], recipients: [archive.publicKey] }),
  );
  const derivation = { secret: archive.privateKey, context: 'EGAF00000000001' };
  const round = () => {
    for (const header of headers) {
      reencryptHeader({ header, readerKeys: [archive.privateKey], recipients: [recipient.publicKey], derivation });
    }
  };
  // Until the compiler has seen it.
  for (let warm = 0; warm < 4; warm += 1) round();
  restart();
  let done = 0;
  while (cpuSeconds() < seconds) {
    round();
    done += headers.length;
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
  const [first = '', source = '', third = ''] = rest;
  const key = Buffer.from(first, 'hex');
  restart();
  let done: number | undefined;
  if (job === 'headers') done = rebuildHeaders(Number(first));
  else if (job === 'ranges') done = await readRanges(key, source, Number(third));
  else if (job === 'encrypt') await encryptFile(key, source, third);
  else if (job === 'decrypt') await decryptFile(key, source, third);
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
