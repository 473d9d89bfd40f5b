import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli } from '../../helpers/cli-run.ts';
import { notVerified } from '../../helpers/client-process.ts';
import { Service } from '../../helpers/service.ts';

/** A passport with 200 visas, which no header can hold as a whole, with the commands that a researcher gives. */

let service: Service;
let folder: string;
let env: Record<string, string>;
let passport: string;
const staged = 'EGAF1-first.bam.c4gh';

beforeAll(async () => {
  service = await Service.shared();
  folder = await mkdtemp(join(tmpdir(), 'data-out-client-passport-'));
  await service.putStaged('researcher', staged, 'content');
  const ids = Array.from({ length: 200 }, (_, index) => `EGAD${index}`);
  passport = await service.passport(
    'researcher',
    await Promise.all(ids.map((datasetId) => service.visa({ datasetId }))),
  );
  await writeFile(join(folder, 'passport.jwt'), passport, { mode: 0o600 });
  const { proxyUrl, archiveUser } = service.connection;
  env = {
    DATA_OUT_URL: proxyUrl,
    DATA_OUT_VISA_FILE: 'passport.jwt',
    DATA_OUT_USERNAME: archiveUser.username,
    DATA_OUT_PASSWORD: archiveUser.password,
  };
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

const run = (...argv: string[]) => runCli(argv, { folder, env });
const told = /The passport has \d+ bytes, which do not fit a header: .* is sent\./g;

describe('a passport with 200 visas', () => {
  test('is larger than a gateway takes: without a choice of visas it is a 431', async () => {
    expect(passport.length).toBeGreaterThan(100_000);
    const reply = await service.direct('metadata/datasets', passport.slice(0, 11_000));
    expect([reply.status, reply.text]).toEqual([431, expect.stringContaining('The request was refused.')]);
  });

  test('lists and downloads what is staged', async () => {
    const { exitCode, stdout, stderr } = await run('list', '--json');
    expect({ exitCode, name: JSON.parse(stdout.toString()).name }).toEqual({ exitCode: 0, name: staged });
    expect(stderr.match(told)).toHaveLength(1);
    expect((await run('download', '--all')).exitCode).toBe(notVerified);
    expect(await readFile(join(folder, staged), 'utf8')).toBe('content');
  });
});
