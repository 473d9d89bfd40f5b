import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GetObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parsePolicy } from '../../lib/local/iam/policy.ts';
import { runOps } from '../../lib/ops/program.ts';
import { connectTarget } from '../../lib/ops/target.ts';
import { s3Client } from '../../lib/service/stores/clients.ts';
import { makeTerminal } from '../helpers/ops-world.ts';
import { Service } from '../helpers/service.ts';

/** The policies of `docs/policies`, filled in as the page on operations says, and evaluated by the engine. */
const policies = join(import.meta.dirname, '../../docs/policies');
let service: Service;
let folder: string;

beforeAll(async () => {
  service = await Service.shared();
  folder = await mkdtemp(join(tmpdir(), 'data-out-policies-'));
  await writeFile(join(folder, 'sample.vcf'), '##fileformat=VCFv4.3\n');
  await writeFile(join(folder, 'password'), 'correct horse battery staple\n');
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true });
});

/** Credentials with one of the policies. */
function userWith(name: string) {
  const { outputs } = service.connection;
  const values: Readonly<Record<string, string | undefined>> = outputs;
  const text = readFileSync(join(policies, `${name}.json`), 'utf8').replaceAll(
    /\$\{(\w+)\}/g,
    (whole, output: string) => values[output] ?? whole,
  );
  const { accessKeyId, secretAccessKey } = service.engine.credentials.issueForUser(
    name,
    parsePolicy(JSON.parse(text), name),
  );
  return { accessKeyId, secretAccessKey };
}

async function commandsOf(name: string) {
  const path = join(folder, `${name}.json`);
  await writeFile(path, JSON.stringify({ ...service.connection, credentials: userWith(name) }));
  return async (...argv: string[]) => {
    const { terminal, said } = makeTerminal({ folder, now: () => new Date() });
    const exitCode = await runOps(['--connection', path, ...argv], terminal, connectTarget);
    return { exitCode, ...said };
  };
}

test('there is a policy for each of three roles, as IAM takes them', () => {
  expect(readdirSync(policies).sort()).toEqual(['auditor.json', 'deployer.json', 'operator.json']);
  for (const name of readdirSync(policies)) {
    const text = readFileSync(join(policies, name), 'utf8');
    // Characters of a managed policy, without white space (IAM quotas).
    expect(text.replaceAll(/\s/g, '').length).toBeLessThan(6144);
    for (const { Sid } of JSON.parse(text).Statement) expect(Sid).toMatch(/^[A-Za-z0-9]+$/);
  }
});

test('the operator fills the archive, lets people in, and looks back', async () => {
  const ops = await commandsOf('operator');
  for (const argv of [
    ['archive', 'add', 'sample.vcf', '--dataset', 'EGAD00000000009', '--file-id', 'EGAF00000000009'],
    ['dataset', 'release', 'EGAD00000000009'],
    ['dataset', 'list'],
    ['archive', 'list'],
    ['archive-key', 'show'],
    ['admin', 'add', 'policy-admin', '--password-file', 'password'],
    ['admin', 'list'],
    ['admin', 'remove', 'policy-admin'],
    ['user', 'add', 'policy-user', '--password-file', 'password'],
    ['user', 'list'],
    ['visa', 'deny', '--issuer', 'https://a.example.org', '--jti', 'a-visa'],
    ['visa', 'denied'],
    ['visa', 'allow', '--issuer', 'https://a.example.org', '--jti', 'a-visa'],
    ['audit'],
    ['outbox', 'list', '--dataset', 'EGAD00000000009'],
    ['outbox', 'purge', '--dataset', 'EGAD00000000009', '--yes'],
    ['dataset', 'deprecate', 'EGAD00000000009'],
    ['archive', 'remove', 'EGAF00000000009', '--yes'],
  ]) {
    const { exitCode, stderr } = await ops(...argv);
    expect([argv.join(' '), exitCode, stderr]).toEqual([argv.join(' '), 0, expect.any(String)]);
  }
});

describe('the auditor', () => {
  test('reads the audit trail, as a login that reads nothing else', async () => {
    const ops = await commandsOf('auditor');
    const { exitCode, stdout } = await ops('audit', '--json');
    expect([exitCode, stdout]).toEqual([0, expect.any(String)]);
  });

  test.each([
    [['user', 'list']],
    [['archive', 'list']],
    [['admin', 'list']],
    [['visa', 'denied']],
    [['archive-key', 'show']],
    [['outbox', 'list', '--dataset', 'EGAD00000000009']],
    [['archive', 'add', 'sample.vcf', '--dataset', 'EGAD00000000009']],
  ])('may not %j', async (argv) => {
    const ops = await commandsOf('auditor');
    const { exitCode, stderr } = await ops(...argv);
    expect(stderr).toMatch(/denied|not allowed/i);
    expect(exitCode).not.toBe(0);
  });
});

test('the deployer neither works with the archive, nor reads it', async () => {
  const ops = await commandsOf('deployer');
  for (const argv of [['audit'], ['user', 'list'], ['admin', 'list']])
    expect((await ops(...argv)).exitCode).not.toBe(0);
  const { region, endpoints, outputs } = service.connection;
  const s3 = s3Client({ region, endpoint: endpoints.s3, credentials: userWith('deployer') });
  const read = s3.send(new GetObjectCommand({ Bucket: outputs.ArchiveBucketName, Key: 'any' }));
  await expect(read).rejects.toMatchObject({ name: 'AccessDenied' });
});
