import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli } from '../helpers/cli-run.ts';
import { pipeProcess } from '../helpers/pipe-process.ts';
import { Service } from '../helpers/service.ts';

let service: Service;
let folder: string;
let env: Record<string, string>;
const script = join(import.meta.dirname, '../../bin/data-out.ts');
const names = ['EGAF1-first.bam.c4gh', 'EGAF2-second.bam.c4gh', 'EGAF3-third.bam.c4gh'];

beforeAll(async () => {
  service = await Service.shared();
  folder = await mkdtemp(join(tmpdir(), 'data-out-client-list-'));
  const { proxyUrl, archiveUser, outputs } = service.connection;
  await writeFile(join(folder, 'visa.jwt'), await service.visa({ subject: 'researcher' }), { mode: 0o600 });
  env = {
    DATA_OUT_URL: proxyUrl,
    DATA_OUT_VISA_FILE: 'visa.jwt',
    DATA_OUT_USERNAME: archiveUser.username,
    DATA_OUT_PASSWORD: archiveUser.password,
  };
  for (const [index, name] of names.entries()) {
    const Key = `${service.prefix('researcher')}/${name}`;
    const container = { Bucket: outputs.OutboxBucketName, Key, Body: Buffer.alloc(1000 + index) };
    await service.s3For(Key).send(new PutObjectCommand(container));
  }
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

const list = (argv: readonly string[] = [], more: Record<string, string> = {}) =>
  runCli(['list', ...argv], { folder, env: { ...env, ...more } });

describe('list', () => {
  test('the executable prints a table, with the sum on standard error', async () => {
    const { exitCode, stdout, stderr } = await pipeProcess(['list'], { folder, script, env });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '3 files, 2.9 KiB\n' });
    const [head, ...rows] = stdout.toString().trimEnd().split('\n');
    expect(head).toMatch(/^NAME +SIZE {2}STAGED +EXPIRES$/);
    expect(rows.map((row) => row.split(/ {2,}/).slice(0, 2))).toEqual([
      [names[0], '1000 B'],
      [names[1], '1001 B'],
      [names[2], '1002 B'],
    ]);
  });

  test('--json has one object per line, with the expiry of the staged copy', async () => {
    const { stdout } = await list(['--json']);
    const rows = stdout
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(rows.map(({ name }) => name)).toEqual(names);
    const days = (Date.parse(rows[0].expires) - Date.parse(rows[0].staged)) / 86_400_000;
    // S3 rounds expiry up to the next midnight.
    expect(days).toBeGreaterThan(29.9);
    expect(days).toBeLessThan(31.1);
  });

  test('the names that clients in the field use work', async () => {
    const field = {
      LOCAL_EGA_INSTANCE_URL: env.DATA_OUT_URL!,
      ELIXIR_AAI_TOKEN: await service.visa({ subject: 'researcher' }),
      CENTRAL_EGA_USERNAME: env.DATA_OUT_USERNAME!,
      CENTRAL_EGA_PASSWORD: env.DATA_OUT_PASSWORD!,
    };
    const { exitCode, stdout } = await runCli(['list', '--json'], { folder, env: field });
    expect(exitCode).toBe(0);
    expect(stdout.toString().trimEnd().split('\n')).toHaveLength(3);
  });

  test('an empty outbox is reported, and is not a failure', async () => {
    const visa = await service.visa({ subject: 'without-files' });
    const { exitCode, stdout, stderr } = await list([], { DATA_OUT_VISA: visa });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: 'no files are staged for without-files\n' });
    expect(stdout.length).toBe(0);
  });

  test.each([
    ['a visa without a valid signature', { DATA_OUT_VISA: 'eyJhbGciOiJFUzI1NiJ9.e30.c2ln' }, 3, ''],
    ['a wrong password', { DATA_OUT_PASSWORD: 'wrong-password' }, 3, ''],
  ])('%s', async (_what, more, code, named) => {
    const { exitCode, stdout, stderr } = await list([], more);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: code, stderr: expect.stringContaining(named) });
    expect(stdout.length).toBe(0);
    for (const secret of ['wrong-password', 'c2ln', env.DATA_OUT_PASSWORD!]) expect(stderr).not.toContain(secret);
  });
});
