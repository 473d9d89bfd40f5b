import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { DeliveryApi, ExportRequest } from '../../../../../lib/client/api/delivery-api.ts';
import { ServiceError, UnavailableError } from '../../../../../lib/client/api/errors.ts';
import { type BatchResult, runBatch } from '../../../../../lib/client/cli/export/batch.ts';
import { outboxPrefix } from '../../../../../lib/contract/outbox-key.ts';
import {
  formatPublicKey,
  generateKeyPair,
  parsePublicKey,
  publicKeyFingerprint,
} from '../../../../../lib/crypt4gh/index.ts';
import { shownExport } from '../../../../helpers/export-states.ts';
import { makeTerminal } from '../../../../helpers/ops-world.ts';
import { unverifiedToken, visaClaims } from '../../../../helpers/unverified-token.ts';

let folder: string;
let path: string;
const sent: string[] = [];
const counted: (string | number)[] = [];
let answer: (request: ExportRequest) => Error | undefined;
/** How often the service was connected to. */
let connections: number;
/** What the service says of orders that were sent before. */
let known: (requestId: string) => unknown;
/** The list of exports since a time. */
let listed: (since: string) => readonly object[];

beforeEach(async () => {
  sent.length = 0;
  counted.length = 0;
  answer = () => undefined;
  known = () => shownExport();
  listed = () => [];
  connections = 0;
  folder = await mkdtemp(join(tmpdir(), 'data-out-batch-'));
  path = join(folder, 'batch.csv');
  await writeFile(
    path,
    'id,visa,public_key\nEGAD1,jane.jwt,jane.pub\nEGAD2,jane.jwt,jane.pub\nEGAD3,jane.jwt,jane.pub\n',
  );
  await writeFile(join(folder, 'jane.pub'), formatPublicKey(generateKeyPair().publicKey));
  await writeVisa();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(folder, { recursive: true });
});

const writeVisa = (more = {}) =>
  writeFile(join(folder, 'jane.jwt'), unverifiedToken(visaClaims('EGAD1', { exp: 1_795_262_400, ...more })));

const proxy = {
  export: async (request: ExportRequest) => {
    sent.push(request.id);
    const error = answer(request);
    if (error) throw error;
    return { requestId: `request-${sent.length}`, message: undefined };
  },
  exports: async ({ since }: { since: string }) => listed(since),
  exportState: async (requestId: string) => {
    const shown = known(requestId);
    if (shown instanceof Error) throw shown;
    return { shown, files: [] };
  },
} as unknown as DeliveryApi;

async function run(options: { dryRun?: boolean } = {}) {
  const results: BatchResult[] = [];
  const error = await runBatch({
    path: 'batch.csv',
    kind: 'fega',
    dryRun: options.dryRun ?? false,
    connect: async () => {
      connections += 1;
      return proxy;
    },
    proxyUrl: new URL('https://proxy.example.org/v1/'),
    terminal: makeTerminal({ folder }).terminal,
    progress: {
      counter: (label, total) => {
        counted.push(`${label} of ${total}`);
        return { add: (count) => counted.push(count), end: () => counted.push('end') };
      },
    },
    onResult: (result) => results.push(result),
  });
  return { error, outcomes: results.map(({ row, outcome }) => `${row.line} ${outcome}`), results };
}

test('a second run of the batch at the same time stops, and sends nothing', async () => {
  let second: Promise<unknown> | undefined;
  answer = () => {
    second ??= run().catch((error: unknown) => error);
    return undefined;
  };
  const slow = proxy.export;
  vi.spyOn(proxy, 'export').mockImplementation(async (request, options) => {
    const accepted = await slow(request, options);
    await second;
    return accepted;
  });
  expect((await run()).outcomes).toEqual(['2 accepted', '3 accepted', '4 accepted']);
  expect(await second).toMatchObject({
    code: 'local_disk',
    message: expect.stringMatching(/^another process works on .*batch\.csv\.results\.csv$/),
  });
  expect(sent).toEqual(['EGAD1', 'EGAD2', 'EGAD3']);
  expect((await run()).outcomes).toEqual(['2 accepted-before', '3 accepted-before', '4 accepted-before']);
});

test('a run that is killed leaves what it has sent', async () => {
  answer = ({ id }) => (id === 'EGAD2' ? new TypeError('killed') : undefined);
  await expect(run()).rejects.toThrow('killed');
  answer = () => undefined;
  listed = () => [];
  expect((await run()).outcomes).toEqual(['2 accepted-before', '3 accepted', '4 accepted']);
});

test('the outcomes of a run are a CSV file that a spreadsheet can open', async () => {
  await writeFile(
    path,
    'id,type,visa,public_key\nEGAD1,dataset,jane.jwt,jane.pub\nEGAF2,file,jane.jwt,jane.pub\n=cmd(),,jane.jwt,jane.pub\n',
  );
  answer = ({ id }) =>
    id === '=cmd()' ? new ServiceError('usage', 'id is "odd", or new', { status: 400 }) : undefined;
  await run();
  const head = 'line,id,type,outcome,request_id,time,state,reason,error,order';
  const table = (await readFile(`${path}.results.csv`, 'utf8')).replaceAll(/,[0-9a-f]{64}\r/g, ',DIGEST\r');
  expect(table.split('\r\n')).toEqual([
    head,
    '2,EGAD1,dataset,accepted,request-1,2026-11-21T10:00:00.000Z,,,,DIGEST',
    '3,EGAF2,file,accepted,request-2,2026-11-21T10:00:00.000Z,,,,DIGEST',
    `4,'=cmd(),dataset,failed,,2026-11-21T10:00:00.000Z,,,"id is ""odd"", or new",DIGEST`,
    '',
  ]);
  expect((await stat(`${path}.results.csv`)).mode & 0o077).toBe(0);
  await run();
  expect(await readFile(`${path}.results.csv`, 'utf8')).toMatch(
    /2,EGAD1,dataset,accepted-before,request-1,2026-11-21T10:00:00.000Z,/,
  );
});

test('a new visa of the recipient is a new order', async () => {
  await run();
  await writeVisa({ jti: 'another' });
  expect((await run()).outcomes).toEqual(['2 accepted', '3 accepted', '4 accepted']);
});

test('a row that is refused does not hold up the others, and is tried again next time', async () => {
  answer = ({ id }) => (id === 'EGAD2' ? new ServiceError('usage', 'id is odd', { status: 400 }) : undefined);
  const first = await run();
  expect(first.outcomes).toEqual(['2 accepted', '3 failed', '4 accepted']);
  expect(first.error).toMatchObject({ code: 'partial', message: '1 of 3 rows were not accepted' });
  answer = () => undefined;
  expect((await run()).outcomes).toEqual(['2 accepted-before', '3 accepted', '4 accepted-before']);
});

test.each([
  ['the credentials', new ServiceError('unauthenticated', 'wrong password', { status: 401 })],
  ['the network', new UnavailableError('no network')],
])('what would refuse every row stops the run: %s', async (_what, refusal) => {
  answer = ({ id }) => (id === 'EGAD2' ? refusal : undefined);
  const { error, outcomes } = await run();
  expect(outcomes).toEqual(['2 accepted', '3 failed']);
  expect(error).toMatchObject({ code: refusal.code, message: expect.stringContaining('stopped at line 3') });
  expect(sent).toEqual(['EGAD1', 'EGAD2']);
});

test('a dry run sends nothing and writes nothing', async () => {
  expect((await run({ dryRun: true })).outcomes).toEqual(['2 would-send', '3 would-send', '4 would-send']);
  expect({ sent, connections }).toEqual({ sent: [], connections: 0 });
  await expect(stat(`${path}.results.csv`)).rejects.toMatchObject({ code: 'ENOENT' });
});

test('the results survive half a line, are their owner’s alone and hold no visa', async () => {
  await run();
  await appendFile(`${path}.results.csv`, '5,EGAD4,dataset,sending,,"2026-11-');
  await appendFile(path, 'EGAD4,jane.jwt,jane.pub\n');
  expect((await run()).outcomes.at(-1)).toBe('5 accepted');
  expect((await run()).outcomes.at(-1)).toBe('5 accepted-before');
  const { mode } = await stat(`${path}.results.csv`);
  expect(mode & 0o077).toBe(0);
  const [, claims = ''] = (await readFile(join(folder, 'jane.jwt'), 'utf8')).split('.');
  expect(await readFile(`${path}.results.csv`, 'utf8')).not.toContain(claims);
});

test.each(['rejected', 'incomplete', 'withdrawn'] as const)('a row that became %s is sent again', async (state) => {
  await run();
  known = (requestId) =>
    requestId === 'request-2' ? shownExport({ requestId, state, reason: 'not_released' }) : shownExport();
  const again = ['2 accepted-before', '3 accepted', '4 accepted-before'];
  const tried = await run({ dryRun: true });
  expect(tried.outcomes).toEqual(again.map((outcome) => outcome.replace(/accepted$/, 'would-send')));
  const { error, outcomes, results } = await run();
  expect({ error, outcomes }).toEqual({ error: undefined, outcomes: again });
  expect(results[0]).toMatchObject({ shown: { state: 'staging' } });
  expect(results[1]).toMatchObject({ requestId: 'request-4', former: { requestId: 'request-2', state } });
  expect(sent).toEqual(['EGAD1', 'EGAD2', 'EGAD3', 'EGAD2']);
  // The results have the newest request of each row.
  expect((await run()).results[1]).toMatchObject({ outcome: 'accepted-before', requestId: 'request-4' });
});

describe('a row whose answer was lost', () => {
  const fingerprint = async () => publicKeyFingerprint(parsePublicKey(await readFile(join(folder, 'jane.pub'))));
  const found = async (more = {}) => ({
    ...{ requestId: 'request-of-2', dataset: 'EGAD2', file: null, keyFingerprint: await fingerprint() },
    ...{ recipient: outboxPrefix({ iss: 'https://issuer.example.org/', sub: 'jane' }), ...more },
  });
  beforeEach(async () => {
    answer = ({ id }) => (id === 'EGAD2' ? new UnavailableError('cut', { mayBeDone: true }) : undefined);
    const { error, outcomes } = await run();
    expect(outcomes).toEqual(['2 accepted', '3 failed']);
    expect(error).toMatchObject({ message: 'stopped at line 3: cut. It may have been taken', code: 'unavailable' });
    answer = () => undefined;
  });

  test('is not sent again if the service has it', async () => {
    const row = await found();
    listed = (since) => (since === '2026-11-21T09:55:00.000Z' ? [{ ...row, dataset: 'EGAD9' }, row] : []);
    const { outcomes, results } = await run();
    expect(outcomes).toEqual(['2 accepted-before', '3 accepted-before', '4 accepted']);
    expect(results[1]?.requestId).toBe('request-of-2');
    expect(sent).toEqual(['EGAD1', 'EGAD2', 'EGAD3']);
  });

  test.each([{ dataset: 'EGAD1' }, { file: 'EGAF1' }, { keyFingerprint: '00' }, { recipient: null }])(
    'is sent again if the service has another only: %o',
    async (more) => {
      const row = await found(more);
      listed = () => [row];
      expect((await run()).outcomes).toEqual(['2 accepted-before', '3 accepted', '4 accepted']);
      expect(sent).toEqual(['EGAD1', 'EGAD2', 'EGAD2', 'EGAD3']);
    },
  );
});

test('a row with a fault stops nothing but itself', async () => {
  await appendFile(
    path,
    'EGAD4,jane.jwt,jane.sec\nEGAD5,,jane.pub\nEGAD6\nEGAD7,none.jwt,jane.pub\nEGAD8,jane.jwt,jane.pub\n',
  );
  const { error, outcomes, results } = await run();
  expect(outcomes.slice(3)).toEqual(['5 failed', '6 failed', '7 failed', '8 failed', '9 accepted']);
  expect(results.slice(3, 7).map((result) => result.error?.message)).toEqual([
    expect.stringContaining('jane.sec'),
    'visa is empty',
    'another number of values than the first line has',
    expect.stringContaining('none.jwt'),
  ]);
  expect(error).toMatchObject({ code: 'partial', message: '4 of 8 rows were not accepted' });
  expect(sent).toEqual(['EGAD1', 'EGAD2', 'EGAD3', 'EGAD8']);
});
