import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { directCatalogue } from '../../../../lib/service/catalogue/direct-catalogue.ts';
import { describeEgaFile, listEgaFiles } from '../../../../lib/service/direct/compatibility/ega.ts';
import { describeSdaDataset, listSdaFiles, serveSdaFile } from '../../../../lib/service/direct/compatibility/sda.ts';
import { describeObject, giveAccessUrl } from '../../../../lib/service/direct/drs.ts';
import { listDatasetFiles, listDatasets } from '../../../../lib/service/direct/list-datasets.ts';
import { serveContent, serveFile, serveHeader } from '../../../../lib/service/direct/serve-file.ts';
import type { HttpRequest } from '../../../../lib/service/http/request.ts';
import { TestDatabase } from '../../../helpers/data-api.ts';
import { DrsWorld } from '../../../helpers/drs-world.ts';
import { vectorKey } from '../../../helpers/export-world.ts';
import { FakeDirectUrls } from '../../../helpers/fake-direct-urls.ts';
import { httpRequest, type RequestParts } from '../../../helpers/http-request.ts';

const now = new Date('2026-06-01');
const publicKey = Buffer.from(vectorKey('bob').publicKey).toString('base64');
const invocation = { remainingMs: () => 300_000 };

let database: TestDatabase;
let world: DrsWorld;
beforeAll(async () => {
  world = await DrsWorld.make();
  database = await TestDatabase.shared();
  // EGAD1 is granted below, by an alias, and not released; EGAD2 is released and not granted.
  await database.sql("insert into sda.datasets (id, stable_id) values (1, 'EGAD1'), (2, 'EGAD2'), (3, 'EGAD3')");
  await database.sql(
    "insert into sda.dataset_references (dataset_id, reference_id, reference_scheme) values (1, 'doi:1', 'DOI')",
  );
  await database.sql("insert into sda.dataset_event_log (dataset_id, event) values ('EGAD2', 'released')");
  await database.sql("insert into sda.files (stable_id) values ('EGAF1'), ('EGAF2')");
  await database.sql(
    `insert into sda.file_dataset (file_id, dataset_id)
     select id, case stable_id when 'EGAF1' then 1 else 2 end from sda.files`,
  );
});
afterAll(() => database[Symbol.asyncDispose]());
beforeEach(() => {
  database.bodies.length = 0;
});

function endpoint() {
  const { outbox, archive } = world.ports;
  return {
    ...world.endpoint,
    catalogue: directCatalogue(database.dataApi()),
    archive,
    archiveKeys: { candidates: async () => world.ports.archiveKeys },
    outbox,
    urls: new FakeDirectUrls(() => now),
    now: () => now,
    served: () => {},
  };
}

/** Of each route: how it is asked for an id, with the visas in a passport. */
const routes: Readonly<Record<string, (id: string, dataset: string, visas: readonly string[]) => Promise<unknown>>> = {
  'GET /files/{fileId}': async (id, _, visas) => serveFile(await get({ fileId: id }, visas), endpoint(), invocation),
  'GET /files/{fileId}/header': async (id, _, visas) =>
    serveHeader(await get({ fileId: id }, visas, { 'Public-Key': publicKey }), endpoint()),
  'GET /files/{fileId}/content': async (id, _, visas) => serveContent(await get({ fileId: id }, visas), endpoint()),
  'GET /metadata/datasets/{datasetId}/files': async (_, datasetId, visas) =>
    listDatasetFiles(await get({ datasetId }, visas), endpoint()),
  'GET /datasets/{datasetId}': async (_, datasetId, visas) =>
    describeSdaDataset(await get({ datasetId }, visas), endpoint()),
  'GET /datasets/{datasetId}/files': async (_, datasetId, visas) =>
    listSdaFiles(await get({ datasetId }, visas), endpoint(), base),
  'GET /s3/{datasetId}/{path}': async (_, datasetId, visas) =>
    serveSdaFile(await get({ datasetId, path: 'a' }, visas, { 'Public-Key': publicKey }), endpoint(), invocation),
  'GET /ega/v1/datasets/{datasetId}/files': async (_, datasetId, visas) =>
    listEgaFiles(await get({ datasetId, version: 'v1' }, visas), endpoint()),
  'GET /ega/v2/files/{fileId}': async (id, _, visas) =>
    describeEgaFile(await get({ fileId: id, version: 'v2' }, visas), endpoint()),
  'GET DRS object': async (id, _, visas) => describeObject(await get({ object_id: id }, visas), base, endpoint()),
  'POST DRS object': async (id, _, visas) => describeObject(await post(id, visas), base, endpoint()),
  'GET DRS access URL': async (id, _, visas) => giveAccessUrl(await get({ object_id: id }, visas), base, endpoint()),
  'POST DRS access URL': async (id, _, visas) => giveAccessUrl(await post(id, visas), base, endpoint()),
};
const base = 'https://data.example.org/v1';

async function get(
  pathParameters: NonNullable<RequestParts['pathParameters']>,
  visas: readonly string[],
  headers = {},
): Promise<HttpRequest> {
  const token = await world.issuer.passport(visas);
  return httpRequest({ pathParameters, headers: { Authorization: `Bearer ${token}`, ...headers } });
}

/** Ten passports, the same one twice among them. */
async function post(id: string, visas: readonly string[]): Promise<HttpRequest> {
  const passports = await Promise.all(
    Array.from({ length: 9 }, (_, at) => world.issuer.passport(visas, { claims: { note: at } })),
  );
  return httpRequest({
    method: 'POST',
    pathParameters: { object_id: id, access_id: 'plaintext' },
    body: { passports: [...passports, passports[0]] },
  });
}

const states = [
  ['unknown', 'EGAF404', 'EGAD404'],
  ['not granted', 'EGAF2', 'EGAD2'],
  ['not released', 'EGAF1', 'EGAD1'],
] as const;

describe.each([1, 12])('with %i visas', (count) => {
  let visas: readonly string[];
  beforeAll(async () => {
    const datasets = Array.from({ length: count }, (_, at) => (at === 0 ? 'doi:1' : `EGAD1${at}`));
    visas = await Promise.all(datasets.map((dataset) => world.issuer.visa({ dataset })));
  });

  test.each(Object.entries(routes))('%s: one statement, whatever the reason of the refusal', async (_, ask) => {
    const seen = new Set<string>();
    for (const [, fileId, datasetId] of states) {
      database.bodies.length = 0;
      const error = await ask(fileId, datasetId, visas).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: 'forbidden' });
      expect(database.bodies).toHaveLength(1);
      const { sql } = JSON.parse(database.bodies[0] ?? '{}') as { sql: string };
      seen.add(`${(error as Error).message} ${sql}`);
    }
    expect(seen.size).toBe(1);
  });

  test('GET /metadata/datasets: one statement', async () => {
    const reply = await listDatasets(await get({}, visas), endpoint());
    expect(JSON.parse(reply.body)).toEqual([]);
    expect(database.bodies).toHaveLength(1);
  });
});
