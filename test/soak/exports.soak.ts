import { loadavg } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { forEachConcurrently } from '../../lib/common/concurrently.ts';
import { formatPublicKey } from '../../lib/crypt4gh/index.ts';
import type { FaultRule } from '../../lib/local/endpoint/traffic.ts';
import { localTarget } from '../../lib/ops/target.ts';
import { Seeded } from '../fuzz/seeded.ts';
import { runTool } from '../helpers/ops-world.ts';
import { Service } from '../helpers/service.ts';
import { SoakArchive, type SoakFile } from './archive.ts';
import { MemoryWatch } from './memory.ts';
import { Queues } from './queues.ts';
import { RandomFaults } from './random-faults.ts';
import { checkOutbox, newRecipient, pairOf, type Recipient } from './recipients.ts';
import { exports, files, print, seed, sizeOf } from './size.ts';

/** Exports while one AWS call in a hundred goes wrong. */

let service: Service;
let archive: SoakArchive;
let queues: Queues;

beforeAll(async () => {
  service = await Service.start();
  archive = await SoakArchive.fill(service);
  queues = await Queues.of(service);
  print(`seed: ${seed} (SOAK_SEED)`);
});
afterAll(() => service?.stop());

/** One export that was asked for. */
interface Order {
  readonly file: SoakFile;
  /** Of its recipient. */
  readonly index: number;
  readonly pair: string;
  readonly isGranted: boolean;
}

/** Ends of a request in the audit trail, and the file of each. */
interface Row {
  readonly event: string;
  readonly requestId: string;
  readonly pair: string;
}

async function auditTrail(): Promise<readonly Row[]> {
  const rows = await service.sql('select event, request_id, file_id, recipient from data_out.export_log order by id');
  return rows.map(([event, requestId, fileId, recipient]) => ({
    event: event ?? '',
    requestId: requestId ?? '',
    pair: pairOf(fileId ?? null, recipient ?? null),
  }));
}

async function countOf(where: string): Promise<number> {
  const [[count] = []] = await service.sql(`select count(*) from data_out.export_log where ${where}`);
  return Number(count);
}

/** Ask for an export until the proxy takes it. @returns its id, and how often the proxy has answered with 5xx */
async function ask(
  id: string,
  type: string,
  visa: string,
  to: Recipient,
): Promise<{ requestId: string; refused: number }> {
  const userPublicKey = formatPublicKey(to.keys.publicKey);
  for (let refused = 0; refused < 20; refused += 1) {
    const reply = await service.export({ id, type, visaToken: visa, userPublicKey });
    if (reply.status === 200) return { requestId: ((await reply.json()) as { requestId: string }).requestId, refused };
    const text = await reply.text();
    if (reply.status < 500) throw new Error(`export answered ${reply.status}: ${text}`);
  }
  throw new Error('export answered twenty times with 5xx');
}

/**
 * Run exports under faults until the queues are empty, retry what was given up, and print figures.
 *
 * @returns how many files were given up, or requests rejected, because their attempts had failed
 */
async function underFaults(name: string, total: number, broken: FaultRule, publish: () => Promise<void>) {
  const random = new Seeded(`${seed} ${name}`);
  const faults = new RandomFaults(random, service.engine.functions.names, 100);
  const memory = new MemoryWatch(service, total);
  const before = await countOf("event in ('staged', 'rejected')");
  const look = async () => memory.look((await countOf("event in ('staged', 'rejected')")) - before);
  const { traffic } = service.engine;
  traffic.resetCounters();
  const heal = traffic.addFault(broken);
  const undo = traffic.addFault(faults.rule);
  const started = performance.now();
  await queues.drained(publish(), faults, look, false);
  const seconds = (performance.now() - started) / 1_000;
  heal();
  await queues.drained(Promise.resolve(), faults, look, true);
  const failed = await failures();
  for (let round = 0; round < 3; round += 1) {
    await retryAll();
    await queues.drained(Promise.resolve(), faults, look, true);
  }
  undo();
  await retryAll();
  await service.engine.functions.invoke('sweep-deliveries', {});
  await queues.drained(Promise.resolve(), faults, look, true);
  print(
    `${seconds.toFixed(0)} s, ${(total / seconds).toFixed(1)} files/s, load ${loadavg()[0]?.toFixed(1)}; ` +
      `${failed} files or requests failed, ${await failures()} after their retries`,
  );
  const calls = Object.entries(traffic.counters()).filter(([counter]) => /^(stage|consume)-/.test(counter));
  for (const one of ['s3', 'rds-data', 'sqs']) {
    const sum = calls
      .filter(([counter]) => counter.includes(` ${one} `))
      .reduce((all, [, { calls }]) => all + calls, 0);
    print(`${(sum / total).toFixed(2)} ${one} calls per file`);
  }
  print(`${faults.total} faults:\n${faults.summary}`);
  memory.check();
  expect(faults.total).toBeGreaterThan(0);
  return failed;
}

/** Files that are given up, and requests that no delivery could decide on. */
async function failures(): Promise<number> {
  const [[count] = []] = await service.sql(
    `select (select count(*) from data_out.request_files where state = 'given_up')
       + (select count(*) from data_out.requests where reason = 'failed')`,
  );
  return Number(count);
}

/** What the operator does about files that were given up. */
async function retryAll(): Promise<void> {
  const givenUp = await service.sql("select distinct request_id from data_out.request_files where state = 'given_up'");
  const target = localTarget(service.connection);
  for (const [requestId = ''] of givenUp) {
    const { exitCode, stderr } = await runTool(['exports', 'retry', String(requestId)], target);
    if (exitCode !== 0) throw new Error(`exports retry: ${stderr}`);
  }
}

/** No file is open or given up, and each request has the receipt of its last revision. */
async function expectAllSettled(): Promise<void> {
  const left = `select r.state, f.state, count(*) from data_out.requests r
    left join data_out.request_files f on f.request_id = r.request_id
    where r.settled_revision < r.revision or f.state in ('waiting', 'sent', 'given_up') group by 1, 2`;
  expect(await service.sql(left)).toEqual([]);
}

test('one-file exports: each settles, and no container is lost, doubled or changed', async () => {
  print(`\n== ${sizeOf(exports, 'one-file exports')}`);
  const random = new Seeded(`${seed} orders`);
  const width = Math.max(4, Math.ceil(Math.sqrt(exports.count)));
  const soakFiles = await archive.dataset('EGAD1', width, false);
  const recipients = Array.from({ length: width }, (_, index) => newRecipient(`researcher-${index}`));
  const granted = await Promise.all(recipients.map(({ subject }) => service.visa({ subject, datasetId: 'EGAD1' })));
  const foreign = await Promise.all(recipients.map(({ subject }) => service.visa({ subject, datasetId: 'EGAD404' })));
  /** By request id. */
  const orders = new Map<string, Order>();
  let refused = 0;

  const order = async (file: SoakFile, index: number, isGranted: boolean) => {
    const recipient = recipients[index]!;
    const answer = await ask(file.fileId, 'fileId', (isGranted ? granted : foreign)[index]!, recipient);
    refused += answer.refused;
    orders.set(answer.requestId, {
      file,
      index,
      isGranted,
      pair: pairOf(file.fileId, service.prefix(recipient.subject)),
    });
    if (isGranted) recipient.files.set(file.fileId, file);
  };
  // One file whose requests fail, and one recipient whose outbox does: until both are mended.
  const brokenFile = soakFiles.at(-1)!.fileId;
  const brokenPrefix = service.prefix(recipients.at(-1)!.subject);
  const broken: FaultRule = ({ service: of, key, input, caller }) => {
    if (caller === 'operator') return undefined;
    if (of === 's3' && key?.startsWith(brokenPrefix)) return { error: { status: 403, code: 'AccessDenied' } };
    const isOfFile = of === 'rds-data' && JSON.stringify(input).includes(brokenFile);
    return isOfFile ? { error: { status: 403, code: 'AccessDeniedException' } } : undefined;
  };
  const publish = () =>
    forEachConcurrently(Array.from({ length: exports.count }, (_, at) => at).values(), 8, async (at) => {
      // Some ask again for what was asked for already, some for what no visa grants.
      const isRepeated = at > 0 && random.oneIn(20);
      const pair = isRepeated ? random.below(at) : at;
      await order(soakFiles[pair % width]!, Math.floor(pair / width) % width, !random.oneIn(50));
    });

  const failed = await underFaults('one-file exports', exports.count, broken, publish);
  // Of a request that was rejected because each attempt failed, its recipient is told to export again.
  const rejected = await service.sql("select request_id from data_out.requests where reason = 'failed'");
  for (const [requestId = ''] of rejected) {
    const known = orders.get(requestId ?? '');
    // The answer of the proxy was lost, and the recipient has asked again already.
    if (!known) continue;
    orders.delete(requestId ?? '');
    await order(known.file, known.index, known.isGranted);
  }
  await queues.drained(Promise.resolve(), new RandomFaults(random, [], 1), async () => {}, true);
  print(`${refused} answers of the proxy with 5xx`);

  const containers = new Map<string, string>();
  for (const recipient of recipients) {
    for (const [pair, requestId] of await checkOutbox(service, recipient)) containers.set(pair, requestId);
  }
  const rows = await auditTrail();
  // What was given up was retried.
  const ended = new Map(
    rows.filter(({ event }) => event === 'staged' || event === 'rejected').map((row) => [row.requestId, row.event]),
  );
  const staged = new Set(rows.filter(({ event }) => event === 'staged').map((row) => `${row.requestId} ${row.pair}`));
  // A request of which there is no end was superseded: the container comes from another one, which was staged.
  const lost = [...orders].filter(([requestId, { pair, isGranted }]) => {
    const end = ended.get(requestId);
    if (!isGranted || end !== undefined) return end !== (isGranted ? 'staged' : 'rejected');
    const other = containers.get(pair);
    return other === requestId || !staged.has(`${other} ${pair}`);
  });
  expect(lost).toEqual([]);
  expect(orders.size).toBe(exports.count);
  await expectAllSettled();
  expect(failed).toBeGreaterThan(0);
  print(`${orders.size} requests settled, ${containers.size} containers opened`);
});

test('one export of many files: each file is staged once', async () => {
  print(`\n== one export of ${sizeOf(files, 'files')}`);
  const soakFiles = await archive.dataset('EGAD2', files.count, true);
  const recipient = newRecipient('researcher-of-all');
  for (const file of soakFiles) recipient.files.set(file.fileId, file);
  const visa = await service.visa({ subject: recipient.subject, datasetId: 'EGAD2' });
  const publish = async () => void (await ask('EGAD2', 'datasetId', visa, recipient));

  await underFaults('many files', files.count, () => undefined, publish);

  const containers = await checkOutbox(service, recipient);
  expect(containers.size).toBe(files.count);
  const ends = await service.sql(
    `select event, count(distinct file_id) from data_out.export_log
     where recipient = '${service.prefix(recipient.subject)}' and event in ('staged', 'rejected') group by event`,
  );
  expect(ends).toEqual([['staged', String(files.count)]]);
  await expectAllSettled();
  print(`${containers.size} containers opened`);
});
