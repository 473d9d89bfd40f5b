import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli } from '../../helpers/cli-run.ts';
import { notVerified } from '../../helpers/client-process.ts';
import { Service } from '../../helpers/service.ts';

const size = 200_000;
let service: Service;
let fileId: string;
let visa: string;
let folder: string;
let staged: string;

beforeAll(async () => {
  service = await Service.shared();
  folder = await mkdtemp(join(tmpdir(), 'data-out-length-'));
  ({ fileId } = await service.archive('EGAD1', 'dir/sample.bam', size));
  await service.setDataset('EGAD1', 'released');
  visa = await service.visa();
  await writeFile(join(folder, 'visa.jwt'), visa, { mode: 0o600 });
  staged = `${fileId}-sample.bam.c4gh`;
  await service.putStaged('researcher', staged, 'a staged container');
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

const run = (...argv: readonly string[]) => {
  const { proxyUrl, archiveUser } = service.connection;
  return runCli(argv, {
    folder,
    env: {
      DATA_OUT_URL: proxyUrl,
      DATA_OUT_VISA_FILE: join(folder, 'visa.jwt'),
      DATA_OUT_USERNAME: archiveUser.username,
      DATA_OUT_PASSWORD: archiveUser.password,
    },
  });
};

describe.each(['kept', 'dropped', 'renamed', 'zero'] as const)('the length of a reply without a body is %s', (fate) => {
  beforeAll(() => {
    service.engine.gateway.contentLengthWithoutBody = fate;
  });
  // Other files share the engine.
  afterAll(() => {
    service.engine.gateway.contentLengthWithoutBody = 'kept';
  });

  test('HEAD and 304 of a file say its size all the same', async () => {
    const head = await service.direct(`files/${fileId}`, visa, { method: 'HEAD' });
    expect([head.status, head.headers['x-file-size']]).toEqual([200, String(size)]);
    expect([head.headers['content-length'], head.headers['x-amzn-remapped-content-length']]).toEqual(
      {
        kept: ['200000', undefined],
        dropped: [undefined, undefined],
        renamed: [undefined, '200000'],
        zero: ['0', '200000'],
      }[fate],
    );
    const headers = { Authorization: `Bearer ${visa}`, 'If-None-Match': head.headers.etag ?? '' };
    const unchanged = await service.direct(`files/${fileId}`, undefined, { headers });
    expect([unchanged.status, unchanged.text, unchanged.headers['x-file-size']]).toEqual([304, '', String(size)]);
  });

  test('data-out download', async () => {
    const download = await run('download', staged, '-o', `staged-${fate}`);
    expect(download.exitCode, download.stderr).toBe(notVerified);
    expect(await readFile(join(folder, `staged-${fate}`, staged), 'utf8')).toBe('a staged container');
  });
});
