import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { issueVisa } from '../../../../lib/ops/commands/local-issuer.ts';
import { parseTrustedIssuers, type TrustedIssuers, verifyVisaOrPassport } from '../../../../lib/visas/index.ts';
import { denied } from '../../../helpers/issuer.ts';
import { exampleConnection, makeOpsWorld, runTool } from '../../../helpers/ops-world.ts';

const iss = 'https://issuer.example.org';
const now = new Date('2026-11-21T10:00:00.000Z');
let issuer: { iss: string; jwksPath: string; privateKeyPath: string };
let issuers: TrustedIssuers;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-issuer-'));
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  const common = { alg: 'ES256', kid: 'local-1' };
  issuer = { iss, jwksPath: join(folder, 'jwks.json'), privateKeyPath: join(folder, 'issuer.json') };
  await writeFile(issuer.privateKeyPath, JSON.stringify({ ...(await exportJWK(privateKey)), ...common }));
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), ...common }] };
  issuers = parseTrustedIssuers([{ iss, jwks, issues: ['visas', 'passports'] }]);
});
afterAll(() => rm(folder, { recursive: true }));

const issue = (datasetIds: string[]) =>
  issueVisa(issuer, { subject: 'someone', datasetIds, issuedAt: now, expiresAt: new Date(now.getTime() + 3_600_000) });

describe('the service accepts what the local issuer signs', () => {
  test('one dataset: a visa', async () => {
    const grants = await verifyVisaOrPassport(await issue(['EGAD1']), { issuers, denied, now });
    expect(grants).toMatchObject({ kind: 'visa', subject: { iss, sub: 'someone' } });
    expect([...grants.datasetIds]).toEqual(['EGAD1']);
    expect(grants.expiresAt.toISOString()).toBe('2026-11-21T11:00:00.000Z');
  });

  test('several: a passport that grants each to the same person', async () => {
    const grants = await verifyVisaOrPassport(await issue(['EGAD1', 'EGAD2']), { issuers, denied, now });
    expect(grants).toMatchObject({ kind: 'passport', subject: { iss, sub: 'someone' } });
    expect([...grants.datasetIds].sort()).toEqual(['EGAD1', 'EGAD2']);
  });
});

describe('visa issue', () => {
  const run = async (argv: string[], connection: typeof exampleConnection | undefined) => {
    const { target } = await makeOpsWorld();
    return runTool(['visa', 'issue', ...argv], { ...target, connection }, { folder });
  };
  const local = () => ({ ...exampleConnection, issuer });

  test('prints the token alone, so that it can be put into a file', async () => {
    const { exitCode, stdout } = await run(['--subject', 'someone', '--dataset', 'EGAD1'], local());
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    const grants = await verifyVisaOrPassport(stdout.trim(), { issuers, denied, now });
    expect([...grants.datasetIds]).toEqual(['EGAD1']);
  });

  test('-o writes a new file that its owner alone can read, and does not show the token', async () => {
    await mkdir(join(folder, '.git'));
    const argv = ['--subject', 'someone', '--dataset', 'EGAD1', '-o', 'visa.jwt'];
    const { exitCode, stdout, stderr } = await run(argv, local());
    expect([exitCode, stdout]).toEqual([0, 'visa.jwt: for someone, valid until 2026-11-21T11:00:00.000Z\n']);
    expect(stderr).toContain(`warning: Git can commit the secret ${join(folder, 'visa.jwt')}`);
    expect((await stat(join(folder, 'visa.jwt'))).mode & 0o777).toBe(0o600);
    const token = await readFile(join(folder, 'visa.jwt'), 'utf8');
    const grants = await verifyVisaOrPassport(token.trim(), { issuers, denied, now });
    expect([...grants.datasetIds]).toEqual(['EGAD1']);
    expect(await run(argv, local())).toMatchObject({
      exitCode: 9,
      stderr: expect.stringContaining('visa.jwt exists already'),
    });
    expect(await readFile(join(folder, 'visa.jwt'), 'utf8')).toBe(token);
  });

  test('is for the local engine only', async () => {
    const { exitCode, stderr } = await run(['--subject', 'someone', '--dataset', 'EGAD1'], undefined);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('local engine only');
  });

  test.each([
    ...['', '1', 'h', '0h', '-1h', '1.5h', '1w', '367d', '1h30m'].map((expires) => [
      ...['--subject', 's', '--dataset', 'EGAD1', `--expires=${expires}`],
    ]),
    ['--dataset', 'EGAD1'],
    ['--subject', 's'],
    ['--subject', '', '--dataset', 'EGAD1'],
  ])('%j is wrong usage (%#)', async (...argv) => {
    expect((await run(argv, local())).exitCode).toBe(2);
  });
});
