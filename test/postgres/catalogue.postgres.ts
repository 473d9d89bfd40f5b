import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type DatabaseRole, databaseRoles } from '../../lib/contract/database-roles.ts';
import { RdsErasure } from '../../lib/ops/audit/erasure.ts';
import { RdsAuditTrail } from '../../lib/ops/audit/trail.ts';
import { RdsArchiveInventory } from '../../lib/ops/catalogue/inventory.ts';
import { RdsArchiveWriter } from '../../lib/ops/catalogue/writer.ts';
import { accessQuery } from '../../lib/service/catalogue/access-query.ts';
import { rdsCatalogue } from '../../lib/service/catalogue/catalogue.ts';
import { directCatalogue } from '../../lib/service/catalogue/direct-catalogue.ts';
import { exportRecords } from '../../lib/service/export/export-records.ts';
import { sendToSettle } from '../../lib/service/export/requests.ts';
import { recordEnds } from '../../lib/service/export/stage/record.ts';
import type { DataApi } from '../../lib/service/stores/rds/data-api.ts';
import { prepareRole } from '../../lib/service/stores/rds/database-role.ts';
import { migrate } from '../../lib/service/stores/rds/migrate.ts';
import { TestDatabase } from '../helpers/data-api.ts';
import { ExportPipeline } from '../helpers/export-pipeline.ts';
import { ServerDatabase } from '../helpers/postgres-database.ts';
import { type PostgresServer, startPipelinePostgres } from '../helpers/postgres-server.ts';
import { readMigrations } from '../helpers/read-migrations.ts';

/**
 * Every query of this service over PostgreSQL's own server and the tables of an ingestion pipeline, each as the role that
 * runs it in production. The owner is not a superuser, as in Aurora.
 */

const owner = { username: 'data_out', password: 'the password of the owner' };
const roles = Object.values(databaseRoles);
const passwordOf = (role: DatabaseRole) => `the password of ${role}`;

/** Rows as the pipeline writes them. EGAF1 and EGAF2 are in EGAD1, EGAF2 and EGAF3 in EGAD2, EGAF6 to EGAF8 in EGAD4. */
const rows = [
  "insert into sda.encryption_keys (key_hash) values ('cafe')",
  "insert into sda.datasets (stable_id) values ('EGAD1'), ('EGAD2'), ('EGAD3'), (null), ('EGAD4')",
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
          ('EGAF6', 'u', 'a_b/same', 'body-6', 1, 1, '00', null, null, 'ready', now()),
          ('EGAF7', 'u', 'c_d/same.c4gh', 'body-7', 1, 1, '00', null, null, 'ready', now()),
          ('EGAF8', 'u', 'a_b/sub/2.c4gh', 'body-8', 1, 1, '00', null, null, 'ready', now()),
          (null, 'u', 'u/4.c4gh', '', null, null, null, null, null, 'uploaded', now())`,
  `insert into sda.checksums (file_id, checksum, type, source)
   select id, 'ABCD', 'SHA256', cast(source as sda.checksum_source) from sda.files, unnest(array['UNENCRYPTED', 'ARCHIVED']) source
   where stable_id = 'EGAF1'`,
  `insert into sda.file_dataset (file_id, dataset_id)
   select f.id, d.id from sda.files f, sda.datasets d
   where (f.stable_id, d.stable_id) in (('EGAF1', 'EGAD1'), ('EGAF2', 'EGAD1'), ('EGAF2', 'EGAD2'), ('EGAF3', 'EGAD2'),
     ('EGAF6', 'EGAD4'), ('EGAF7', 'EGAD4'), ('EGAF8', 'EGAD4'))`,
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

it('the migrations leave the pipeline’s tables and rows as they are, and do nothing the second time', async () => {
  expect(await migrate(as(), readMigrations())).toEqual([]);
  for (const role of roles) await prepareRole(as(), role, passwordOf(role));
  expect(await database.sql('select version from sda.dbschema_version')).toEqual([['27']]);
  expect(await database.sql('select count(*), min(archive_location) from sda.files')).toEqual([['7', 's3://archive']]);
  const timeZone = "select data_type from information_schema.columns where column_name = 'expired_at'";
  expect(await database.sql(timeZone)).toEqual([['timestamp without time zone']]);
});

describe.each([databaseRoles.reader, databaseRoles.worker])('%s', (role) => {
  const catalogue = () => rdsCatalogue(as(role));
  const first = (...namedBy: number[]) => ({ entitled: [{ datasetId: 'EGAD1', namedBy }] });

  it.each([
    ['by id', ['EGAD1'], { datasetId: 'EGAD1' }, { known: true, granted: true, ...first(0) }],
    ['an alias that has expired', ['old'], { datasetId: 'EGAD1' }, { known: true, granted: false, entitled: [] }],
    [
      'an alias like an id of a smoke test',
      ['SMOKE-1'],
      { datasetId: 'EGAD1' },
      { known: true, granted: false, entitled: [] },
    ],
    ['a file, not released', ['EGAD2'], { fileId: 'EGAF3' }, { known: true, granted: true, entitled: [] }],
    ['all that is granted', ['EGAD3', 'EGAD2', 'doi:1'], undefined, { known: true, granted: true, ...first(2) }],
  ] as const)('decides: %s', async (_name, granted, wanted, finding) => {
    expect(await catalogue().evaluateAccess(granted, wanted)).toEqual(finding);
  });

  it('reads releases, ids and a header that is longer than a row', async () => {
    expect([await catalogue().isReleased('EGAD1'), await catalogue().isReleased('EGAD2')]).toEqual([true, false]);
    const file = await catalogue().findReleasedFile({ fileId: 'EGAF1', datasetId: 'EGAD1' });
    expect(file).toMatchObject({ submissionFilePath: 'u/ä b.vcf.c4gh', archiveFilePath: 'body-1', keyHash: 'cafe' });
    expect(Buffer.from(file?.header ?? []).equals(Buffer.alloc(50_000, Buffer.from([0x0a, 0x1b])))).toBe(true);
    expect(await catalogue().findReleasedFile({ fileId: 'EGAF3', datasetId: 'EGAD2' })).toBeUndefined();
  });
});

describe('the direct API', () => {
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

  it.each([
    ['u/ä b.vcf.c4gh', false, ['EGAF1']],
    ['u/ä b.vcf', false, ['EGAF1']],
    ['2.c4gh', false, []],
    ['u/3', false, []],
    ['sub/2.c4gh', true, ['EGAF8']],
    ['a_b/sub/2', true, ['EGAF8']],
    ['same.c4gh', true, ['EGAF6', 'EGAF7']],
  ])('finds what is at %s, behind a user: %s', async (path, behindUser, expected) => {
    const found = await catalogue().filesAt(behindUser ? 'EGAD4' : 'EGAD1', path, behindUser);
    expect(found.map(({ fileId }) => fileId).sort()).toEqual(expected);
  });

  it('counts the files that can be served, and the bytes that are recorded', async () => {
    expect(await catalogue().totalsOf('EGAD1')).toEqual({ files: 2, size: 100 });
    expect(await catalogue().totalsOf('EGAD3')).toEqual({ files: 0, size: 0 });
  });

  it('tells facts of a file', async () => {
    expect(await catalogue().factsOf('EGAF1')).toEqual({
      decryptedFileSize: 100,
      createdAt: new Date('2026-01-02T03:04:05.678Z'),
      plaintextChecksums: [{ type: 'SHA256', value: 'abcd' }],
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

describe('an export', () => {
  const { worker, auditor } = databaseRoles;
  let world: ExportPipeline;
  beforeEach(async () => {
    await database.sql('truncate data_out.requests, data_out.request_files, data_out.export_log');
    world = new ExportPipeline(database, `arn:${worker}`);
  });

  it('is accepted, staged, settled, withdrawn and swept with the rights of the worker; shown to the auditor; erased by the owner', async () => {
    await world.addDataset('EGAD11', ['EGAF111', 'EGAF112']);
    world.grant('EGAD11');
    world.archive.delete('bodies/EGAF112');
    world.quota = { gib: 1, expiryDays: 30 };
    const id = world.request({ datasetId: 'EGAD11' });
    await world.deliverAll();
    expect(await world.statesOf(id)).toEqual(['EGAF111: staged', 'EGAF112: given_up archive_damaged']);
    world.archive.set('bodies/EGAF112', Buffer.alloc(100));
    expect(await world.retry(id)).toEqual({ reopened: 1, sent: 1 });
    await world.deliverAll();
    const shown = await exportRecords(as(auditor)).find('fega', id);
    expect(shown).toMatchObject({ state: 'complete', counts: { total: 2, staged: 2 }, generation: 2 });
    expect(await exportRecords(as(auditor)).files(id, 0)).toMatchObject([{ state: 'staged' }, { state: 'staged' }]);
    expect(await exportRecords(as(auditor)).newest('fega', {}, 0)).toMatchObject([
      { requestId: id, state: 'complete' },
    ]);
    await world.event('EGAD11', 'deprecated');
    await world.withdraw();
    await world.deliverAll();
    expect(await world.requestRow(id)).toMatchObject({ state: 'withdrawn', revision: 3, settled_revision: 3 });
    expect(await world.sweep()).toEqual({ givenUp: [], sent: 0, settling: 0, overdue: 0, deleted: 0 });
    const trail = new RdsAuditTrail(as(auditor));
    const events = (await all(trail.newest({ requestId: id.toUpperCase() }, 10))).map(({ event }) => event);
    expect(events.sort()).toEqual([
      ...['accepted', 'given_up', 'settled', 'staged', 'staged', 'withdrawn', 'withdrawn'],
    ]);
    const { recipient } = (await world.requestRow(id)) ?? {};
    expect(await new RdsErasure(as()).erase(String(recipient), id)).toBeGreaterThan(0);
    expect(await world.requestRow(id)).toMatchObject({ recipient: null, public_key: null });
  });

  it('of two at the same time is accepted, where the quota has room for one', async () => {
    await world.addDataset('EGAD12', ['EGAF121', 'EGAF122']);
    world.grant('EGAD12');
    world.quota = { gib: 1, expiryDays: 30 };
    await database.sql("update sda.files set archive_file_size = 600000000 where stable_id in ('EGAF121', 'EGAF122')");
    for (let round = 0; round < 10; round += 1) {
      await database.sql('truncate data_out.requests, data_out.request_files, data_out.export_log');
      for (const fileId of ['EGAF121', 'EGAF122']) world.request({ fileId });
      const both = await Promise.all([world.consume(), world.consume()]);
      expect(both.map((one) => one?.outcome).toSorted()).toEqual(['accepted', 'rejected']);
    }
  });

  describe('of which', () => {
    const files = ['EGAF131', 'EGAF132'] as const;
    let requestId: string;
    beforeEach(async () => {
      if ((await database.sql("select 1 from sda.datasets where stable_id = 'EGAD13'")).length === 0) {
        await world.addDataset('EGAD13', files);
      }
      world.grant('EGAD13');
      requestId = world.request({ datasetId: 'EGAD13' });
      await world.consume();
    });
    const staged = (fileId: string) => ({
      ...{ requestId, fileId },
      end: { outcome: 'staged' as const, bytes: 1, crc64nvme: undefined, headerSha256: 'ab' },
    });

    it('two batches commit at once can be settled for the one that asks after both', async () => {
      const send = () =>
        sendToSettle([requestId], { db: as(worker), deliveries: { send: async (ids) => void sent.push(...ids) } });
      const sent: string[] = [];
      await as(worker).transaction(async (slow) => {
        expect(await recordEnds(slow, [staged(files[0])], 10)).toMatchObject([{ was: 'sent', maySettle: true }]);
        // The other does not see what is not committed.
        expect(await recordEnds(as(worker), [staged(files[1])], 10)).toMatchObject([{ was: 'sent', maySettle: true }]);
        await send();
        expect(sent).toEqual([]);
      });
      await send();
      expect(sent).toEqual([requestId]);
    });

    it('the same files are recorded by several at once, in another order, end once', async () => {
      const both = files.map(staged);
      await Promise.all(
        Array.from({ length: 8 }, (_, n) => recordEnds(as(worker), n % 2 ? both : both.toReversed(), 10)),
      );
      expect(await world.statesOf(requestId)).toEqual(files.map((fileId) => `${fileId}: staged`));
      expect(await database.sql("select count(*) from data_out.export_log where event = 'staged'")).toEqual([['2']]);
      expect(await world.requestRow(requestId)).toMatchObject({ revision: 1 });
    });
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
    expect((await all(inventory.files())).map(({ fileId }) => fileId)).toEqual(
      expect.arrayContaining(['EGAF1', 'EGAF100', 'EGAF2', 'EGAF3']),
    );
    const dataset = { datasetId: 'EGAD100', newestEvent: 'released', files: 1, bytes: 0 };
    expect(await inventory.findDataset('EGAD100')).toEqual(dataset);
    expect((await all(inventory.datasets())).map(({ datasetId }) => datasetId)).toEqual(
      expect.arrayContaining(['EGAD1', 'EGAD100', 'EGAD2', 'EGAD3']),
    );
    const events = "select event from sda.dataset_event_log where dataset_id = 'EGAD100' order by id";
    expect(await database.sql(events)).toEqual([['registered'], ['released']]);
    // What it entered is served.
    expect(await rdsCatalogue(as(databaseRoles.worker)).isReleased('EGAD100')).toBe(true);
  });
});

describe('a role', () => {
  const tables = (names: string) => names.split(' ').map((name) => `sda.${name} SELECT`);
  const catalogueTables = 'dataset_event_log dataset_references datasets file_dataset files';
  // What happens to requests and their files,
  const progress = [
    'data_out.requests INSERT',
    'data_out.requests SELECT',
    ...['INSERT', 'SELECT'].map((right) => `data_out.request_files ${right}`),
  ];

  it.each([
    [databaseRoles.proxy, ['data_out.archive_users SELECT']],
    [databaseRoles.auditor, ['export_log', 'request_files'].map((name) => `data_out.${name} SELECT`)],
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

  it('of the worker changes only the progress of a request and its files', async () => {
    const columns = `select table_name, string_agg(column_name, ' ' order by column_name)
      from information_schema.column_privileges
      where grantee = 'data_out_worker' and table_name in ('requests', 'request_files') and privilege_type = 'UPDATE'
      group by 1 order by 1`;
    expect(await database.sql(columns)).toEqual([
      [
        'request_files',
        'bytes changed_at crc64nvme header_sha256 outbox_key reason state superseded_by upload_for upload_id',
      ],
      ['requests', 'receipt revision settled_at settled_revision staged staged_bytes state'],
    ]);
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
