import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decrypt, generateKeyPair, openHeader } from '../../lib/crypt4gh/index.ts';
import { rdsDataClient } from '../../lib/service/stores/clients.ts';
import { DataApi } from '../../lib/service/stores/rds/data-api.ts';
import { collect, sha256 } from '../helpers/crypt4gh-vectors.ts';
import { bytesOf } from '../helpers/made-files.ts';
import { Service } from '../helpers/service.ts';
import { proxySecretArn } from '../helpers/service-secrets.ts';

const mebibyte = 1024 * 1024;
let service: Service;
const recipient = generateKeyPair();

beforeAll(async () => {
  service = await Service.shared();
});
afterAll(() => service?.stop());

const sha256OfMade = async (path: string, size: number) => sha256(await collect(bytesOf({ path, size })));
const plaintextSum = async (container: Uint8Array) =>
  sha256(await collect(decrypt([container], { privateKeys: [recipient.privateKey] })));

describe('from export to plaintext', () => {
  const datasetId = 'EGAD00000000001';
  const sources = [
    { path: 'empty.txt', size: 0 },
    { path: 'run 1/sample.vcf', size: 5000 },
    { path: 'run 2/sample.vcf', size: 70_000 },
    { path: '.größe/.Δ genome (1).bam', size: 1000 },
  ];

  beforeAll(async () => {
    for (const { path, size } of sources) await service.archive(datasetId, path, size);
    await service.setDataset(datasetId, 'released');
  });

  test('staged, listed, streamed, decrypted; names safe and unique', async () => {
    const visa = await service.visa({ datasetId });
    expect(await service.list(visa)).toEqual([]);
    const requestId = await service.exported({ id: datasetId, visa, publicKey: recipient.publicKey });
    const rows = await service.settled(requestId, sources.length);
    expect(rows.map(({ event }) => event)).toEqual(['accepted', ...sources.map(() => 'staged')]);

    // Polling the listing is how completion is seen.
    const listed = await service.list(visa);
    expect(listed).toHaveLength(sources.length);
    const names = listed.map(({ fileName }) => fileName.replace(/^EGAF\d+-/, ''));
    expect(names.sort()).toEqual(
      ['_gr_e__.____genome__1_.bam.c4gh', 'empty.txt.c4gh', 'sample.vcf.c4gh', 'sample.vcf.c4gh']
        .map((name) => (name.startsWith('_gr') ? expect.stringMatching(/^[A-Za-z0-9_-][A-Za-z0-9._-]*\.c4gh$/) : name))
        .sort(),
    );
    expect(new Set(listed.map(({ fileName }) => fileName)).size).toBe(sources.length);

    const expected = new Set(await Promise.all(sources.map(({ path, size }) => sha256OfMade(path, size))));
    const got = new Set<string>();
    for (const { fileName, size } of listed) {
      const container = await service.download(visa, fileName);
      expect(container.length).toBe(size);
      // What arrives is a Crypt4GH container.
      expect(container.subarray(0, 8).toString()).toBe('crypt4gh');
      got.add(await plaintextSum(container));
    }
    expect(got).toEqual(expected);
  });

  test('of 9 MiB, 5 pass through the function; the header is new, and the archive key is not its sender', async () => {
    const size = 9 * mebibyte;
    const { fileId: id } = await service.archive('EGAD00000000070', 'large.bam', size);
    await service.setDataset('EGAD00000000070', 'released');
    const visa = await service.visa({ datasetId: 'EGAD00000000070', subject: 'large' });
    service.engine.traffic.resetCounters();
    await service.settled(await service.exported({ id, type: 'fileId', visa, publicKey: recipient.publicKey }));
    const counters = service.engine.traffic.counters();
    expect(counters['stage-file s3 GetObject']?.bytesOut).toBeLessThanOrEqual(5 * mebibyte);
    expect(counters['stage-file s3 UploadPart']?.bytesIn).toBeLessThanOrEqual(5 * mebibyte + 1024);
    expect(counters['stage-file s3 UploadPartCopy']?.calls).toBeGreaterThanOrEqual(1);
    expect(counters['stage-file s3 PutObject']).toBeUndefined();

    const [[archivePath, oldHeader, archiveKey] = []] = await service.sql(
      `select archive_file_path, header, key_hash from sda.files where stable_id = '${id}'`,
    );
    const [{ fileName = '' } = {}] = await service.list(visa);
    const container = await service.download(visa, fileName);
    const body = await service.object('ArchiveBucketName', archivePath ?? '');
    const header = container.subarray(0, container.length - body.length);
    expect(container.subarray(header.length).equals(body)).toBe(true);
    expect(header.toString('hex')).not.toBe(oldHeader);
    expect(header.includes(Buffer.from(archiveKey ?? '', 'hex'))).toBe(false);
    expect(openHeader(header, [recipient.privateKey]).dataKeys).toHaveLength(1);
    expect(await plaintextSum(container)).toBe(await sha256OfMade('large.bam', size));
  });
});

describe('the database, with the secret of list and stream', () => {
  const databaseAs = (secretArn: string) => {
    const { region, credentials, endpoints, outputs } = service.connection;
    return new DataApi({
      client: rdsDataClient({ region, credentials, endpoint: endpoints.rdsData }),
      clusterArn: outputs.DatabaseClusterArn,
      secretArn,
      database: outputs.DatabaseName,
    });
  };

  test('is the only one for their authorizer, and they themselves may not use it; a second migration does not change this', async () => {
    const { functions } = service.engine;
    const owner = service.connection.outputs.DatabaseSecretArn;
    const { environment } = functions.definition('authorize-outbox');
    expect(Object.values(environment)).not.toContain(owner);
    expect(environment.DATABASE_SECRET_ARN).toBe(proxySecretArn(service));
    for (const name of ['files', 'stream']) {
      const names = Object.keys(functions.definition(name).environment);
      expect(names.filter((variable) => variable.startsWith('DATABASE_'))).toEqual([]);
    }
    expect(await functions.invoke('migrate', {})).toMatchObject({ ok: true });
    await databaseAs(proxySecretArn(service)).execute('select username from data_out.archive_users');
  });
});
