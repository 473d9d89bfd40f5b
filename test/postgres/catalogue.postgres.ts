import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type DatabaseRole, databaseRoles } from '../../lib/contract/database-roles.ts';
import { RdsAuditTrail } from '../../lib/ops/audit/trail.ts';
import { ArchiveUserWriter } from '../../lib/ops/catalogue/archive-users.ts';
import { RdsArchiveInventory } from '../../lib/ops/catalogue/inventory.ts';
import { FileIdTakenError, RdsArchiveWriter } from '../../lib/ops/catalogue/writer.ts';
import { accessQuery } from '../../lib/service/catalogue/access-query.ts';
import { directCatalogue } from '../../lib/service/catalogue/direct-catalogue.ts';
import { exportCatalogue } from '../../lib/service/catalogue/export-catalogue.ts';
import { noteAttempts, outboxRecords, receiptRecords } from '../../lib/service/ledger/ledger.ts';
import type { DataApi } from '../../lib/service/stores/rds/data-api.ts';
import { prepareRole } from '../../lib/service/stores/rds/database-role.ts';
import { migrate } from '../../lib/service/stores/rds/migrate.ts';
import { TestDatabase } from '../helpers/data-api.ts';
import { ServerDatabase } from '../helpers/postgres-database.ts';
import { type PostgresServer, startPipelinePostgres } from '../helpers/postgres-server.ts';
import { readMigrations } from '../helpers/read-migrations.ts';
import { wholeLedger } from '../helpers/whole-ledger.ts';

/**
 * Every query of this service over PostgreSQL's own server and the tables of an ingestion pipeline, each as the role that
 * runs it in production. The owner is not a superuser, as in Aurora.
 */

const owner = { username: 'data_out', password: 'the password of the owner' };
const roles = Object.values(databaseRoles);
const passwordOf = (role: DatabaseRole) => `the password of ${role}`;
const requestId = '7d4cbd3e-6f3e-4df5-9d9a-1c9b6e9d0e3c';

/** Rows as the pipeline writes them. EGAF1 and EGAF2 are in EGAD1, EGAF2 and EGAF3 in EGAD2. */
const rows = [
  "insert into sda.encryption_keys (key_hash) values ('cafe')",
  "insert into sda.datasets (stable_id) values ('EGAD1'), ('EGAD2'), ('EGAD3'), (null)",
  `insert into sda.dataset_references (dataset_id, reference_id, reference_scheme, expired_at) values
    (1, 'doi:1', 'DOI', null), (1, 'old', 'X', now() - interval '1 minute'), (1, 'soon', 'X', now() + interval '1 hour'),
    (1, 'shared', 'A', null), (2, 'shared', 'B', null), (1, 'SMOKE-1', 'X', null)`,
  `insert into sda.dataset_event_log (dataset_id, event, event_date) values
    ('EGAD1', 'registered', '2026-01-01T00:00:00Z'), ('EGAD1', 'released', '2026-01-02T00:00:00Z'),
    ('EGAD2', 'released', '2026-01-01T00:00:00Z'), ('EGAD2', 'deprecated', '2026-01-02T00:00:00Z')`,
  `insert into sda.files (stable_id, submission_user, submission_file_path, archive_file_path, archive_file_size,
     decrypted_file_size, header, key_hash, archive_location, last_event, created_at)
   values ('EGAF1', 'u', 'u/ä b.vcf.c4gh', 'body-1', 128, 100, repeat('0a1B', 25000), 'cafe', 's3://archive', 'ready',
             '2026-01-02T03:04:05.678Z'),
          ('EGAF2', 'u', 'u/2.c4gh', 'body-2', 9007199254740991, null, '63727970', null, null, 'ready', now()),
          ('EGAF3', 'u', 'u/3.c4gh', 'body-3', 1, 1, '00', null, null, 'ready', now()),
          (null, 'u', 'u/4.c4gh', '', null, null, null, null, null, 'uploaded', now())`,
  `insert into sda.checksums (file_id, checksum, type, source)
   select id, 'ABCD', 'SHA256', cast(source as sda.checksum_source) from sda.files, unnest(array['UNENCRYPTED', 'ARCHIVED']) source
   where stable_id = 'EGAF1'`,
  `insert into sda.file_dataset (file_id, dataset_id)
   select f.id, d.id from sda.files f, sda.datasets d
   where (f.stable_id, d.stable_id) in (('EGAF1', 'EGAD1'), ('EGAF2', 'EGAD1'), ('EGAF2', 'EGAD2'), ('EGAF3', 'EGAD2'))`,
];

let server: PostgresServer;
let database: TestDatabase;
/** The Data API with the credentials of a role; the owner's when absent. */
const as = (role?: DatabaseRole): DataApi => database.dataApi(role && { secretArn: `arn:${role}` });

beforeAll(async () => {
  server = await startPipelinePostgres(owner);
  database = new TestDatabase(new ServerDatabase({ host: server.host, database: 'sda', owner }));
  database.logins = Object.fromEntries(
    roles.map((role) => [`arn:${role}`, { username: role, password: passwordOf(role) }]),
  );
  for (const statement of rows) await database.sql(statement);
  await migrate(as(), readMigrations());
  for (const role of roles) await prepareRole(as(), role, passwordOf(role));
});
afterAll(async () => {
  await database?.[Symbol.asyncDispose]();
  await server?.stop();
});

describe('the migrations', () => {
  it('leave the pipeline’s tables and rows as they are, and do nothing the second time', async () => {
    expect(await migrate(as(), readMigrations())).toEqual([]);
    for (const role of roles) await prepareRole(as(), role, passwordOf(role));
    expect(await database.sql('select version from sda.dbschema_version')).toEqual([['27']]);
    expect(await database.sql('select count(*), min(archive_location) from sda.files')).toEqual([
      ['4', 's3://archive'],
    ]);
    const timeZone = "select data_type from information_schema.columns where column_name = 'expired_at'";
    expect(await database.sql(timeZone)).toEqual([['timestamp without time zone']]);
  });
});

describe.each([databaseRoles.reader, databaseRoles.worker])('%s', (role) => {
  const catalogue = () => exportCatalogue(as(role), noteAttempts);
  const first = (...namedBy: number[]) => ({ entitled: [{ datasetId: 'EGAD1', namedBy }] });

  it.each([
    ['by id', ['EGAD1'], { datasetId: 'EGAD1' }, { known: true, granted: true, ...first(0) }],
    ['by alias', ['soon', 'x', 'EGAD1'], { datasetId: 'doi:1' }, { known: true, granted: true, ...first(0, 2) }],
    ['an alias that has expired', ['old'], { datasetId: 'EGAD1' }, { known: true, granted: false, entitled: [] }],
    ['an alias of two', ['shared'], { datasetId: 'shared' }, { known: false, granted: false, entitled: [] }],
    [
      'an alias like an id of a smoke test',
      ['SMOKE-1'],
      { datasetId: 'EGAD1' },
      { known: true, granted: false, entitled: [] },
    ],
    ['a file', ['EGAD2', 'EGAD1'], { fileId: 'EGAF2' }, { known: true, granted: true, ...first(1) }],
    ['a file, not released', ['EGAD2'], { fileId: 'EGAF3' }, { known: true, granted: true, entitled: [] }],
    ['a file that is missing', ['EGAD1'], { fileId: 'EGAF9' }, { known: false, granted: false, entitled: [] }],
    ['all that is granted', ['EGAD3', 'EGAD2', 'doi:1'], undefined, { known: true, granted: true, ...first(2) }],
  ] as const)('decides: %s', async (_name, granted, wanted, finding) => {
    expect(await catalogue().evaluateAccess(granted, wanted)).toEqual(finding);
  });

  it('reads releases, ids and a header that is longer than a row', async () => {
    expect([await catalogue().isReleased('EGAD1'), await catalogue().isReleased('EGAD2')]).toEqual([true, false]);
    const [page] = await all(catalogue().exportableFiles('EGAD1', ''));
    expect(page?.files.map(({ fileId }) => fileId).sort()).toEqual(['EGAF1', 'EGAF2']);
    const file = await catalogue().findReleasedFile({ fileId: 'EGAF1', datasetId: 'EGAD1' });
    expect(file).toMatchObject({ submissionFilePath: 'u/ä b.vcf.c4gh', archiveFilePath: 'body-1', keyHash: 'cafe' });
    expect(Buffer.from(file?.header ?? []).equals(Buffer.alloc(50_000, Buffer.from([0x0a, 0x1b])))).toBe(true);
    expect(await catalogue().findReleasedFile({ fileId: 'EGAF3', datasetId: 'EGAD2' })).toBeUndefined();
  });
});

const unexpected = () => Promise.reject(new Error('a transaction within one'));

describe('direct access', () => {
  const catalogue = () => directCatalogue(as(databaseRoles.reader));

  it('lists files, and stops at a dataset that is not released', async () => {
    const listed = await all(catalogue().filesOfDataset('EGAD1'));
    expect(listed.map(({ fileId, archiveFileSize }) => [fileId, archiveFileSize]).sort()).toEqual([
      ['EGAF1', 128],
      ['EGAF2', 9007199254740991],
    ]);
    expect(listed.flatMap(({ plaintextChecksums }) => plaintextChecksums)).toEqual([{ type: 'SHA256', value: 'abcd' }]);
    await expect(all(catalogue().filesOfDataset('EGAD2'))).rejects.toThrow(
      expect.objectContaining({ code: 'forbidden' }),
    );
  });

  it('tells facts of a file', async () => {
    expect(await catalogue().factsOf('EGAF1')).toEqual({
      decryptedFileSize: 100,
      createdAt: new Date('2026-01-02T03:04:05.678Z'),
      plaintextChecksums: [{ type: 'SHA256', value: 'abcd' }],
      archivedChecksums: [{ type: 'SHA256', value: 'abcd' }],
    });
    expect(await catalogue().factsOf('EGAF9')).toBeUndefined();
  });

  it('does the same work on grants, whatever the reason of a refusal', async () => {
    const granted = ['EGAD2', 'doi:1', ...Array.from({ length: 10 }, (_, at) => `EGAD10${at}`)];
    const withoutReleased = granted.filter((id) => id !== 'doi:1');
    const wanted = { unknown: 'EGAF404', 'not granted': 'EGAF1', 'not released': 'EGAF3' };
    const works = await Promise.all(Object.values(wanted).map(async (fileId) => workOnGrants(withoutReleased, fileId)));
    expect(works[0]?.some(([node, loops]) => node === 'Function Scan' && loops === 1)).toBe(true);
    // Each of the eleven ids is looked up, by id and as an alias.
    expect(works[0]?.filter(([, loops]) => loops === 11).length).toBeGreaterThanOrEqual(2);
    expect(works[1]).toEqual(works[0]);
    expect(works[2]).toEqual(works[0]);
  });

  /** Node, loops and rows of every step that PostgreSQL took below the table of grants. */
  async function workOnGrants(
    granted: readonly string[],
    fileId: string,
  ): Promise<(readonly [string, number, number])[]> {
    const explained = await as(databaseRoles.reader).query(
      z.object({ 'QUERY PLAN': z.string() }),
      `explain (analyze, format json) ${accessQuery({ fileId })}`,
      { granted: { json: granted }, id: fileId },
    );
    const [{ Plan }] = JSON.parse(explained[0]?.['QUERY PLAN'] ?? '') as [{ Plan: PlanNode }];
    const table = nodesOf(Plan).find((node) => node['Subplan Name'] === 'CTE granted');
    if (!table) throw new Error('the plan has no table of grants');
    return nodesOf(table).map((node) => [node['Node Type'], node['Actual Loops'], node['Actual Rows']]);
  }
});

describe('the audit trail', () => {
  it('is written by the worker, each event once, and read by the operator', async () => {
    const { recordRemoval } = outboxRecords(as(databaseRoles.worker), 30);
    for (const _ of [1, 2]) {
      await recordRemoval([], [{ requestId, event: 'accepted', archiveKind: 'fega', datasetId: 'EGAD1' }]);
      await recordRemoval(
        [],
        [{ requestId, event: 'staged', datasetId: 'EGAD1', fileId: 'EGAF1', bytes: 9007199254740991 }],
      );
    }
    const trail = new RdsAuditTrail(as());
    const events = async (filter = {}) => (await all(trail.newest(filter, 10))).map(({ event }) => event);
    expect(await events()).toEqual(['staged', 'accepted']);
    expect(await events({ requestId: requestId.toUpperCase(), datasetId: 'EGAD1', fileId: 'EGAF1' })).toEqual([
      'staged',
    ]);
    expect(await events({ datasetId: 'EGAD2' })).toEqual([]);
    const [staged] = await all(trail.newest({}, 1));
    expect(staged).toMatchObject({ bytes: 9007199254740991, recordedAt: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/) });
  });
});

describe('the log of deliveries', () => {
  it('is read by the worker, which settles a request in it', async () => {
    const recipient = 'ab'.repeat(32);
    await database.sql(
      `insert into data_out.requests
         (request_id, requested_at, kind, dataset_id, recipient, key_fingerprint, state, sealed_at)
       values ('${requestId}', '2026-11-21T09:00:00Z', 'dataset', 'EGAD1', '${recipient}', 'k1', 'accepted', now())`,
    );
    await database.sql(
      `insert into data_out.request_files (request_id, file_id, state, outbox_key, bytes, header_sha256)
       values ('${requestId}', 'EGAF1', 'staged', '${recipient}/EGAF1-x.c4gh', 9007199254740991, 'd1'),
              ('${requestId}', 'EGAF2', 'given_up', null, null, null)`,
    );
    const log = receiptRecords(as(databaseRoles.worker));
    const request = { requestId, receiptRevision: 1 };
    expect(await log.find(requestId)).toMatchObject({
      ...request,
      requestedAt: '2026-11-21T09:00:00.000Z',
      isOpen: false,
    });
    expect(await all(log.files(requestId))).toMatchObject([
      { fileId: 'EGAF1', path: 'u/ä b.vcf.c4gh', plaintextSize: 100, newest: { requestId, size: 9007199254740991 } },
      { fileId: 'EGAF2', state: 'given_up', newest: undefined },
    ]);
    const settlement = { state: 'incomplete', staged: 1, stagedBytes: 9007199254740991 } as const;
    for (const _ of [1, 2]) expect(await log.finalize(request, settlement)).toBe(true);
    await log.close(request, true);
    expect(await log.find(requestId)).toMatchObject({ state: 'incomplete', finalizedRevision: 1 });
    const [settled] = await all(new RdsAuditTrail(as()).newest({ requestId }, 1));
    expect(settled).toMatchObject({ event: 'settled', reason: 'incomplete', bytes: 9007199254740991 });
  });
});

describe('a request', () => {
  const fileIds = ['EGAF1', 'EGAF2'];
  const request = {
    requestId,
    requestedAt: new Date('2026-11-21T09:59:00.123Z'),
    datasetId: 'EGAD1',
    recipient: 'ab',
    keyFingerprint: 'cd',
  };
  const requests = () => wholeLedger(as(databaseRoles.worker), 10);
  const files = () => wholeLedger(as(databaseRoles.worker), 10);
  const end = (fileId: string, state: 'staged' | 'given_up' = 'staged') => ({ requestId, fileId, state });
  const event = (fileId: string) => ({ requestId, fileId, event: 'staged' as const });
  const attempt = (fileId: string, isFirst = true) => ({
    requestId,
    datasetId: 'EGAD1',
    fileId,
    isFirst,
    isLast: true,
  });

  beforeEach(async () => {
    await database.sql('truncate data_out.requests, data_out.request_files, data_out.export_log');
    await requests().accept(request, fileIds, { count: 1, isLast: true });
    await exportCatalogue(as(databaseRoles.worker), noteAttempts).findReleasedFiles(fileIds.map((id) => attempt(id)));
  });
  const completeFanOut = () => requests().completeFanOut(requestId, { sentTo: '', files: 0 });

  it('of two at the same time is accepted, where the quota has room for one', async () => {
    const sizes = (two: number, three: number) =>
      database.sql(
        `update sda.files set archive_file_size = case stable_id when 'EGAF2' then ${two} else ${three} end
         where stable_id in ('EGAF2', 'EGAF3')`,
      );
    await sizes(600_000_000, 600_000_000);
    const limited = wholeLedger(as(databaseRoles.worker), 10, { gib: 1, expiryDays: 30 });
    const ask = (id: string, fileId: string) =>
      limited.accept({ ...request, requestId: id, datasetId: 'EGAD2', fileId }, [fileId], { count: 1, isLast: false });
    for (let round = 0; round < 10; round += 1) {
      await database.sql('truncate data_out.requests, data_out.request_files, data_out.export_log');
      const answers = await Promise.all([
        ask('7d4cbd3e-0000-4000-8000-000000000001', 'EGAF2'),
        ask('7d4cbd3e-0000-4000-8000-000000000002', 'EGAF3'),
      ]);
      expect(answers.toSorted()).toEqual([false, true]);
    }
    await sizes(9007199254740991, 1);
  });

  it('of which two batches commit at once is settled for the one that asks after both', async () => {
    await completeFanOut();
    await as(databaseRoles.worker).transaction(async (slow) => {
      expect(
        await wholeLedger(Object.assign(slow, { transaction: unexpected }), 10).record(
          [end('EGAF1')],
          [event('EGAF1')],
        ),
      ).toEqual([requestId]);
      // The other does not see what is not committed.
      expect(await files().record([end('EGAF2')], [event('EGAF2')])).toEqual([requestId]);
      expect(await files().finalizable([requestId])).toEqual([]);
    });
    expect(await files().finalizable([requestId])).toEqual([requestId]);
  });

  it('that is sealed while its last file is staged is settled for the one that asks last', async () => {
    await files().record([end('EGAF1')], []);
    await as(databaseRoles.worker).transaction(async (slow) => {
      await wholeLedger(Object.assign(slow, { transaction: unexpected }), 10).record([end('EGAF2')], []);
      expect(await completeFanOut()).toBe(true);
      expect(await files().finalizable([requestId])).toEqual([]);
    });
    expect(await files().finalizable([requestId])).toEqual([requestId]);
  });

  it('is settled once by two batches of the same files in another order', async () => {
    await completeFanOut();
    const both = ['EGAF2', 'EGAF1', 'EGAF1'].map((id) => end(id));
    await Promise.all(
      Array.from({ length: 8 }, (_, n) => files().record(n % 2 ? both : both.toReversed(), fileIds.map(event))),
    );
    const rows = 'select file_id, state from data_out.request_files order by 1';
    expect(await database.sql(rows)).toEqual(fileIds.map((id) => [id, 'staged']));
    expect(await database.sql("select count(*) from data_out.export_log where event = 'staged'")).toEqual([['2']]);
  });

  it('rises by one generation when two of its files come from the dead letters', async () => {
    await completeFanOut();
    await files().record(
      fileIds.map((id) => end(id, 'given_up')),
      [],
    );
    await database.sql('update data_out.requests set settled_generation = generation');
    for (const id of fileIds)
      await exportCatalogue(as(databaseRoles.worker), noteAttempts).findReleasedFiles([attempt(id)]);
    expect(await database.sql('select generation from data_out.requests')).toEqual([['2']]);
    expect(await files().finalizable([requestId])).toEqual([]);
  });

  it('is given up and swept', async () => {
    const sweep = wholeLedger(as(databaseRoles.worker), 10);
    const later = new Date(Date.now() + 60_000);
    const progress = { sentTo: '', files: 0 };
    expect(await sweep.brokenFanOuts(later, new Date(0))).toEqual([{ request, progress }]);
    await requests().fail(request, 'no_answer');
    const closing = () => requests().closeUnsent(requestId, progress, { state: 'given_up', reason: 'not_sent' });
    expect([await closing(), await closing()]).toEqual([false, false]);
    expect(await completeFanOut()).toBe(true);
    expect(await sweep.giveUpSilent(later)).toBe(0);
    expect(await sweep.giveUpExpired(later)).toBe(0);
    expect(await sweep.unclosed(later)).toEqual([requestId]);
  });

  it('is found by its index: neither the open files nor the last tries are all read', async () => {
    await database.sql(`insert into data_out.request_files (request_id, file_id, state, tried_at, is_last_try)
      select gen_random_uuid(), 'F' || n, case n % 100 when 0 then 'pending' else 'staged' end, now(), false
      from generate_series(1, 20000) n`);
    await database.sql('analyze data_out.request_files');
    const planOf = async (where: string) =>
      JSON.stringify(await database.sql(`explain select file_id from data_out.request_files f where ${where}`));
    const open = "f.state in ('pending', 'retrying')";
    expect(await planOf(`f.request_id = '${requestId}' and ${open} limit 11`)).toMatch(/request_files_(open|pkey)/);
    expect(await planOf(`${open} and f.is_last_try and f.tried_at < now()`)).toContain('request_files_last_try');
  });
});

describe('the archive users', () => {
  it('are saved and disabled by the operator, and found by the proxy', async () => {
    const operator = new ArchiveUserWriter(as());
    const proxy = new ArchiveUserWriter(as(databaseRoles.proxy));
    await operator.save('central', '$scrypt$1');
    await operator.save('central', '$scrypt$2');
    expect(await proxy.find('central')).toEqual({ username: 'central', passwordHash: '$scrypt$2' });
    await operator.disable('central');
    expect(await all(operator.list())).toEqual([
      { username: 'central', createdAt: expect.any(String), disabledAt: expect.stringMatching(/^\d{4}-.*:\d\dZ$/) },
    ]);
    expect(await proxy.find('central')).toBeUndefined();
  });
});

describe('the operator', () => {
  const file = {
    fileId: 'EGAF100',
    datasetId: 'EGAD100',
    submissionFilePath: 'made/100.c4gh',
    archiveLocation: 'archive',
    archiveFilePath: 'body-100',
    archiveFileSize: 28,
    decryptedFileSize: 0,
    header: Uint8Array.of(0x63, 0x72),
    keyHash: 'beef',
    checksums: [{ source: 'UNENCRYPTED', type: 'SHA256', checksum: 'ab' }],
  } as const;

  it('fills the catalogue beside the pipeline, twice without harm, and finds existing rows', async () => {
    const writer = new RdsArchiveWriter(as());
    const inventory = new RdsArchiveInventory(as());
    await writer.registerFile(file);
    await writer.registerFile({ ...file, submissionFilePath: 'made/renamed.c4gh' });
    await writer.addToDataset('EGAF100', 'EGAD3');
    for (const _ of [1, 2]) await writer.appendDatasetEvent('EGAD100', 'released');
    expect(await inventory.findFile('EGAF100')).toEqual({
      fileId: 'EGAF100',
      submissionFilePath: 'made/renamed.c4gh',
      archiveFilePath: 'body-100',
      archiveLocation: 'archive',
      archiveFileSize: 28,
      decryptedFileSize: 0,
      keyHash: 'beef',
      unencryptedSha256: 'ab',
      datasetIds: ['EGAD100', 'EGAD3'],
      releasedIn: ['EGAD100'],
    });
    expect((await all(inventory.files('EGAD2'))).map(({ fileId }) => fileId).sort()).toEqual(['EGAF2', 'EGAF3']);
    expect((await all(inventory.files())).map(({ fileId }) => fileId)).toEqual(['EGAF1', 'EGAF100', 'EGAF2', 'EGAF3']);
    const dataset = { datasetId: 'EGAD100', newestEvent: 'released', files: 1, bytes: 0 };
    expect(await inventory.findDataset('EGAD100')).toEqual(dataset);
    expect((await all(inventory.datasets())).map(({ datasetId }) => datasetId)).toEqual([
      'EGAD1',
      'EGAD100',
      'EGAD2',
      'EGAD3',
    ]);
    const events = "select event from sda.dataset_event_log where dataset_id = 'EGAD100' order by id";
    expect(await database.sql(events)).toEqual([['registered'], ['released']]);
    // What it entered is served.
    expect(await exportCatalogue(as(databaseRoles.worker), noteAttempts).isReleased('EGAD100')).toBe(true);
  });

  it('notices content that the pipeline has archived, and removes what it has added', async () => {
    const writer = new RdsArchiveWriter(as());
    const again = { ...file, fileId: 'EGAF101', submissionFilePath: 'made/101.c4gh', archiveFilePath: 'body-101' };
    const added = await writer.registerFile({ ...again, checksums: [{ ...file.checksums[0], checksum: 'abcd' }] });
    expect(added).toEqual({ sameContentAs: 'EGAF1' });
    const removal = { removalId: '7d4cbd3e-6f3e-4df5-9d9a-1c9b6e9d0e3d', fileId: 'EGAF101' };
    await writer.appendDatasetEvent('EGAD100', 'released');
    expect(await writer.removeFile(removal)).toBeUndefined();
    await writer.appendDatasetEvent('EGAD100', 'deprecated');
    expect(await writer.removeFile(removal)).toBe('removed');
    expect(await database.sql("select 1 from sda.files where stable_id = 'EGAF101'")).toEqual([]);
    const [row] = await all(new RdsAuditTrail(as()).newest({ fileId: 'EGAF101' }, 1));
    expect(row).toMatchObject({ event: 'removed', requestId: removal.removalId, bytes: 28 });
  });

  it('does not replace a file that has another body', async () => {
    const taken = { ...file, fileId: 'EGAF1', submissionFilePath: 'made/other.c4gh', archiveFilePath: 'other' };
    await expect(new RdsArchiveWriter(as()).registerFile(taken)).rejects.toThrow(FileIdTakenError);
    expect(await database.sql("select archive_file_path from sda.files where stable_id = 'EGAF1'")).toEqual([
      ['body-1'],
    ]);
  });
});

describe('a role', () => {
  const tables = (names: string) => names.split(' ').map((name) => `sda.${name} SELECT`);
  const catalogueTables = 'dataset_event_log dataset_references datasets file_dataset files';
  // What happens to requests and their files, and what it remembers of copies.
  const progress = [
    'data_out.requests INSERT',
    'data_out.requests SELECT',
    ...['INSERT', 'SELECT'].map((right) => `data_out.request_files ${right}`),
    ...['DELETE', 'INSERT', 'SELECT', 'UPDATE'].map((right) => `data_out.uploads ${right}`),
  ];

  it.each([
    [databaseRoles.proxy, ['data_out.archive_users SELECT']],
    [databaseRoles.auditor, ['export_log', 'request_files', 'requests'].map((name) => `data_out.${name} SELECT`)],
    [databaseRoles.reader, tables(`checksums ${catalogueTables}`)],
    [databaseRoles.worker, [...tables(`checksums ${catalogueTables}`), ...progress]],
  ])('%s has rights to these tables and to no others', async (role, expected) => {
    const granted = `select table_schema || '.' || table_name || ' ' || privilege_type
      from information_schema.table_privileges where grantee = '${role}' order by 1`;
    expect((await database.sql(granted)).flat()).toEqual([...expected].sort());
    const owned = `select relname from pg_class where relowner = '${role}'::regrole`;
    expect(await database.sql(owned)).toEqual([]);
    const member = `select 1 from pg_auth_members where member = '${role}'::regrole`;
    expect(await database.sql(member)).toEqual([]);
  });

  it('of the worker appends to the audit trail, and reads of it what tells a row from another', async () => {
    const columns = `select privilege_type, string_agg(column_name, ' ' order by column_name)
      from information_schema.column_privileges
      where grantee = 'data_out_worker' and table_schema = 'data_out' and table_name = 'export_log' group by 1 order by 1`;
    expect(await database.sql(columns)).toEqual([
      ['INSERT', 'archive_kind bytes checksum dataset_id event file_id key_fingerprint reason recipient request_id'],
      ['SELECT', 'event file_id request_id'],
    ]);
  });

  it('of the worker changes all of a request and its files but which they are', async () => {
    const columns = `select table_name, string_agg(column_name, ' ' order by column_name)
      from information_schema.column_privileges
      where grantee = 'data_out_worker' and table_name in ('requests', 'request_files') and privilege_type = 'UPDATE'
      group by 1 order by 1`;
    expect(await database.sql(columns)).toEqual([
      [
        'request_files',
        'bytes crc64nvme header_sha256 is_last_try outbox_key reason state superseded_by tried_at updated_at',
      ],
      [
        'requests',
        'archive_kind came_further_at closed closed_to dataset_id file_id files generation is_last_try key_fingerprint kind reason receipt_generation recipient ' +
          'sealed_at sent_to settled_at settled_generation staged staged_bytes state tried_at updated_at',
      ],
    ]);
  });

  it.each([
    [databaseRoles.proxy, 'select 1 from sda.files'],
    [databaseRoles.proxy, "update data_out.archive_users set password_hash = 'x'"],
    [databaseRoles.auditor, 'select 1 from data_out.archive_users'],
    [databaseRoles.auditor, 'select 1 from sda.files'],
    [databaseRoles.auditor, "update data_out.requests set state = 'complete'"],
    [databaseRoles.auditor, 'delete from data_out.request_files'],
    [databaseRoles.reader, "update sda.files set header = ''"],
    [databaseRoles.reader, 'select 1 from data_out.archive_users'],
    [databaseRoles.reader, 'select 1 from data_out.export_log'],
    [databaseRoles.worker, 'select key_fingerprint from data_out.export_log'],
    [databaseRoles.worker, 'delete from data_out.export_log'],
    [databaseRoles.worker, 'update data_out.retention set days = 30'],
    [databaseRoles.proxy, 'select data_out.delete_expired(1, 1)'],
    [databaseRoles.worker, "insert into sda.dataset_event_log (dataset_id, event) values ('EGAD2', 'released')"],
    [databaseRoles.worker, 'set role data_out'],
  ])('%s may not %s', async (role, sql) => {
    await expect(as(role).execute(sql)).rejects.toThrow('permission denied');
  });

  it.each(roles)('%s is let in by its own password only', async (role) => {
    database.logins = { ...database.logins, 'arn:wrong': { username: role, password: passwordOf(role).toUpperCase() } };
    await as(role).execute('select 1');
    // A wrong password may be one that rotates, so the call is repeated until the caller's time is over.
    await expect(database.dataApi({ secretArn: 'arn:wrong' }).execute('select 1')).rejects.toThrow(
      expect.objectContaining({ code: 'temporarily_unavailable' }),
    );
  });
});

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Actual Loops': number;
  readonly 'Actual Rows': number;
  readonly 'Subplan Name'?: string;
  readonly Plans?: readonly PlanNode[];
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

/** All items of an iteration over pages. */
async function all<T>(pages: AsyncIterable<T | readonly T[]>): Promise<T[]> {
  const found: T[] = [];
  for await (const page of pages) found.push(...((Array.isArray(page) ? page : [page]) as readonly T[]));
  return found;
}
