import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DeleteObjectCommand, ListMultipartUploadsCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { generateKeyPair } from '../../lib/crypt4gh/index.ts';
import type { CheckResult } from '../../lib/ops/smoke/check.ts';
import { makeIssuer, readIssuer, visasBy } from '../../lib/ops/smoke/issuer.ts';
import { findDeployment, targetOf } from '../../lib/ops/target.ts';
import { assembly } from '../helpers/assembly.ts';
import { makeTerminal } from '../helpers/ops-world.ts';
import { blocksOf } from '../helpers/pages.ts';
import { Service } from '../helpers/service.ts';

let service: Service;
let folder: string;
let issuerFile: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-smoke-'));
  issuerFile = join(folder, 'smoke-issuer.json');
  const entry = await makeIssuer(issuerFile);
  // Each function reads the list in its bundle.
  const assemblyDir = join(folder, 'assembly');
  cpSync(await assembly(), assemblyDir, { recursive: true });
  for (const asset of readdirSync(assemblyDir).filter((name) => name.startsWith('asset.'))) {
    const list = join(assemblyDir, asset, 'config/trusted-issuers.json');
    try {
      writeFileSync(list, JSON.stringify([...JSON.parse(readFileSync(list, 'utf8')), entry]));
    } catch (error) {
      // Not every bundle has one.
      if (!['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
  service = await Service.start({ assemblyDir });
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

type OnReport = (text: string, child: ChildProcess) => void;

/** `npm run smoke`. @param onReport called with standard error so far */
function smoke(argv: readonly string[] = [], onReport?: OnReport) {
  return runScript('smoke', argv, onReport);
}

/** `npm run smoke -- --json`, and its lines. */
async function results(argv: readonly string[], variables?: Readonly<Record<string, string>>) {
  const run = await runScript('smoke', ['--json', ...argv], undefined, variables);
  const lines: CheckResult[] = run.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  return { ...run, lines, of: (id: string) => lines.find((line) => line.id === id) };
}

async function runScript(
  name: string,
  argv: readonly string[],
  onReport: OnReport = () => {},
  variables: Readonly<Record<string, string>> = {},
  onStart: (child: ChildProcess) => void = () => {},
) {
  const script = join(import.meta.dirname, `../../bin/${name}.ts`);
  const env = { ...process.env, DATA_OUT_CONNECTION: service.engine.connectionPath, ...variables };
  const child = spawn(process.execPath, [script, ...argv], { cwd: folder, env });
  onStart(child);
  const said = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => {
    said.stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    said.stderr += chunk;
    onReport(said.stderr, child);
  });
  const exitCode = await new Promise((done) => child.once('close', done));
  return { exitCode, ...said };
}

/** Ends the process when a check has been reported. */
const killAfter = (check: string, signal: NodeJS.Signals) => {
  let killed = false;
  return (text: string, child: ChildProcess) => {
    if (killed || !text.includes(check)) return;
    killed = true;
    child.kill(signal);
  };
};

/** Everything of smoke tests that the deployment holds, except the audit trail. */
async function left() {
  const rows = async (table: string, column: string) =>
    (await service.sql(`select ${column} from ${table} where ${column} ilike 'smoke-%'`)).flat();
  const { outputs } = service.connection;
  const uploads = await Promise.all(
    [outputs.ArchiveBucketName, outputs.OutboxBucketName].map(
      async (Bucket) => (await service.s3.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads ?? [],
    ),
  );
  const archived = await service.sql('select count(*) from sda.files');
  return {
    datasets: await rows('sda.datasets', 'stable_id'),
    events: await rows('sda.dataset_event_log', 'dataset_id'),
    files: await rows('sda.files', 'stable_id'),
    requests: await rows('data_out.requests', 'dataset_id'),
    requestFiles: await rows('data_out.request_files', 'file_id'),
    users: await rows('data_out.archive_users', 'username'),
    outbox: await service.allOutboxKeys(),
    unfinished: uploads.flat(),
    archived,
  };
}
const nothing = {
  ...{ datasets: [], events: [], files: [], requests: [], requestFiles: [], users: [] },
  ...{ outbox: [], unfinished: [], archived: [['0']] },
};

describe('npm run smoke', () => {
  test('a check that fails ends with its remedy and exit code 1, and everything is removed', async () => {
    const heal = service.engine.traffic.addFault(({ caller, service: name, action }) =>
      caller === 'stage-file' && name === 's3' && action === 'CreateMultipartUpload'
        ? { error: { status: 403, code: 'AccessDenied' } }
        : undefined,
    );
    // The large file is given up; the direct API and S3 are tested anyway.
    const { exitCode, stdout, stderr, of } = await results([]).finally(heal);
    expect(exitCode, stdout).toBe(1);
    const remedy = expect.stringContaining('data-out-ops audit');
    expect(of('exported')).toMatchObject({ result: 'failed', found: 'the export is incomplete', remedy });
    expect(of('download')).toMatchObject({ result: 'skipped', found: 'outbox did not pass' });
    for (const id of ['direct', 'clean-up']) expect(of(id)).toMatchObject({ result: 'passed' });
    expect(JSON.parse(stderr.trim().split('\n').at(-1)!).error.message).toMatch(/checks failed: exported/);
    expect(await left()).toEqual(nothing);
  });

  test('a visa of an unknown key is one fault: what needs no visa is tested all the same', async () => {
    const unknown = join(folder, 'unknown-key.json');
    await makeIssuer(unknown);
    const { exitCode, stdout, stderr, lines, of } = await results(['--issuer', unknown]);
    expect(exitCode, stdout).toBe(1);
    expect(lines.filter(({ result }) => result === 'failed')).toMatchObject([
      {
        id: 'visa',
        found: expect.stringContaining('unknown_kid'),
        remedy: expect.stringContaining('private/trusted-issuers.json'),
      },
    ]);
    expect(of('direct GET /files/{fileId}')?.found).toBe('visa did not pass');
    expect(of('direct GET /service-info')?.found).toBe('1 answer');
    expect(of('clean-up')).toMatchObject({ result: 'passed' });
    expect(JSON.parse(stderr.trim().split('\n').at(-1)!).error.message).toMatch(/checks failed: visa$/);
    expect(await left()).toEqual(nothing);
  });

  test('Ctrl-C in the middle removes everything, and ends with 130', async () => {
    const { exitCode, stdout, stderr } = await smoke(
      [],
      killAfter('passed  an export of the dataset is accepted', 'SIGINT'),
    );
    expect([exitCode, stderr.trim().split('\n').at(-1)]).toEqual([130, 'smoke: interrupted']);
    expect(stdout).toContain('everything that the run made is removed');
    expect(await left()).toEqual(nothing);
  });
});

describe('deployed stacks, as the AWS SDK finds them', () => {
  /** What the SDK reads instead of a connection file. */
  const asDeployed = () => {
    const { region, credentials, endpoints } = service.connection;
    return {
      AWS_REGION: region,
      AWS_ENDPOINT_URL: endpoints.cloudFormation,
      AWS_ACCESS_KEY_ID: credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    };
  };

  test('pass with the test issuer, and lose the users of the run', async () => {
    const { administrators } = targetOf(
      await findDeployment({ connection: service.engine.connectionPath }, makeTerminal().terminal),
    );
    const before = await administrators.read();
    const { exitCode, lines } = await results(['--aws', '--issuer', issuerFile], asDeployed());
    const wrong = lines.filter(({ result }) => result !== 'passed').map(({ id, found }) => [id, found]);
    const differing = [
      // The settings of this checkout have no page, and the engine switches it on.
      ['delivery GET /admin', expect.stringMatching(/expected 404 not_found, got 200/)],
    ];
    expect([exitCode, wrong]).toEqual([1, differing]);
    expect(lines.length).toBeGreaterThan(50);
    expect(await administrators.read()).toEqual(before);
    expect(await left()).toEqual(nothing);
  });

  test.each([
    ['smoke', ['--aws']],
    ['preflight', []],
  ])('Ctrl-C ends %s while AWS says nothing', async (name, argv) => {
    const silent = createServer();
    await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done));
    const { port } = silent.address() as AddressInfo;
    let child: ChildProcess | undefined;
    silent.once('connection', () => child?.kill('SIGINT'));
    const variables = { ...asDeployed(), AWS_ENDPOINT_URL: `http://127.0.0.1:${port}` };
    const onStart = (started: ChildProcess) => {
      child = started;
    };
    const { exitCode, stderr } = await runScript(name, argv, undefined, variables, onStart);
    silent.close();
    expect([exitCode, stderr]).toEqual([130, `${name}: interrupted\n`]);
  });
});

test('a visa of a real issuer: what else its subject has in the outbox stays', async () => {
  const file = join(folder, 'smoke.jwt');
  writeFileSync(file, await service.visa({ subject: 'researcher', datasetId: 'SMOKE-by-hand' }));
  await service.putStaged('researcher', 'EGAF1-sample.bam.c4gh', 'theirs');
  const { exitCode, stdout } = await smoke(['--json', '--visa', file, '--dataset', 'SMOKE-by-hand']);
  expect(exitCode, stdout).toBe(0);
  const { outbox, ...rest } = await left();
  expect(outbox).toEqual([`${service.prefix('researcher')}/EGAF1-sample.bam.c4gh`]);
  expect({ outbox: [], ...rest }).toEqual(nothing);
  await service.s3.send(
    new DeleteObjectCommand({ Bucket: service.connection.outputs.OutboxBucketName, Key: outbox[0] }),
  );
});

test.each([
  ['its own id', 'EGAD00000000001', 'EGAD00000000001'],
  ['an alias like an id of a smoke test', 'EGAD00000000002', 'SMOKE-alias'],
])(
  'the test issuer opens no dataset by %s: no export, outbox, the direct API, or passport of DRS',
  async (_name, dataset, named) => {
    const { fileId } = await service.archive(dataset, 'genome.bam', 1000);
    await service.setDataset(dataset, 'released');
    await service.sql(
      `insert into sda.dataset_references (dataset_id, reference_id, reference_scheme)
     select id, '${named}', 'X' from sda.datasets where stable_id = '${dataset}'`,
    );
    const visa = await visasBy(await readIssuer(issuerFile))('mallory', named, new Date());
    const { publicKey } = generateKeyPair();
    const requestId = await service.exported({ id: dataset, visa, publicKey });
    const [row] = await service.settled(requestId);
    expect(row).toMatchObject({ event: 'rejected', reason: 'not_entitled' });
    expect(await service.listAll(visa)).toEqual([]);
    const direct = (path: string) => service.direct(path, visa);
    expect(JSON.parse((await direct('metadata/datasets')).text)).toEqual([]);
    for (const path of [`metadata/datasets/${dataset}/files`, `files/${fileId}`, `files/${fileId}/content`]) {
      expect([path, (await direct(path)).status]).toEqual([path, 403]);
    }
    const body = JSON.stringify({ passports: [visa, await service.passport('mallory', [visa])] });
    const headers = { 'Content-Type': 'application/json' };
    for (const path of [`ga4gh/drs/v1/objects/${fileId}`, `ga4gh/drs/v1/objects/${fileId}/access/plaintext`]) {
      expect([path, (await service.direct(path, undefined, { method: 'POST', headers, body })).status]).toEqual([
        path,
        403,
      ]);
    }
  },
);

test('the commands of docs/smoke-test.md pass, tell no secret, and remove what a killed run left', async () => {
  const comment = 'run by test/resilience/smoke.resilience.ts';
  const blocks = blocksOf('docs/smoke-test.md').filter((block) => block.comment === comment);
  expect(blocks).toHaveLength(3);
  await smoke([], killAfter('passed  every staged file downloads', 'SIGKILL'));
  const { datasets, outbox } = await left();
  expect([datasets.length, outbox.length > 0]).toEqual([2, true]);
  // Where an engine that was started in this folder has it.
  cpSync(service.engine.connectionPath, join(folder, '.local/connection.json'));
  mkdirSync(join(folder, 'private'), { recursive: true });
  const printed: Record<string, { stdout: string; stderr: string }> = {};
  for (const { text } of blocks) {
    const [, name = '', argv = ''] = /^npm run (\w+)(?: -- (.+))?\n$/.exec(text) ?? [];
    const { exitCode, stdout, stderr } = await runScript(name, argv.split(' ').filter(Boolean));
    expect([text, exitCode], `${stdout}${stderr}`).toEqual([text, 0]);
    printed[text] = { stdout, stderr };
  }
  // The files of the tests above stay.
  expect({ ...(await left()), archived: nothing.archived }).toEqual(nothing);
  const { stdout = '', stderr = '' } = printed['npm run smoke\n'] ?? {};
  for (const dataset of datasets) expect(stdout).toContain(dataset);
  expect(stdout.split('\n')[0]).toMatch(/^CHECK +RESULT +SECONDS +FOUND +WHAT TO DO$/);
  expect(stderr.match(/^(passed|skipped) /gm)?.length).toBeGreaterThan(50);
  const { admin, archiveUser } = service.connection;
  for (const secret of [admin.password, archiveUser.password]) expect(`${stdout}${stderr}`).not.toContain(secret);
  expect(`${stdout}${stderr}`).not.toMatch(/X-Amz-Signature|eyJ[\w-]+\.|PRIVATE KEY/);
});
