import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { basic, Service } from '../../helpers/service.ts';

const run = promisify(execFile);
const tools = join(import.meta.dirname, '../../../.ci/openapi-clients/node_modules');
/** A Python that has openapi-python-client: see `.ci/openapi-clients/run`. */
const python = process.env.OPENAPI_PYTHON ?? '';
const staged = 'EGAF00000000001-sample.bam.c4gh';

let service: Service;
let folder: string;
let env: Record<string, string>;
beforeAll(async () => {
  if (!existsSync(python)) throw new Error('OPENAPI_PYTHON names no program: run .ci/openapi-clients/run');
  folder = await mkdtemp(join(tmpdir(), 'data-out-openapi-'));
  service = await Service.start();
  await service.putStaged('researcher', staged, 'crypt4gh');
  const { fileId } = await service.archive('EGAD1', 'sample.txt', 1000);
  await service.setDataset('EGAD1', 'released');
  const { proxyUrl, dataOutUrl, archiveUser } = service.connection;
  env = {
    PATH: `${join(python, '..')}:${process.env.PATH}`,
    PROXY: proxyUrl.replace(/\/$/, ''),
    DIRECT: dataOutUrl.replace(/\/$/, ''),
    BASIC: basic(archiveUser).replace('Basic ', ''),
    VISA: await service.visa(),
    FILE_ID: fileId,
  };
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

const documents = () =>
  [
    ['delivery', `${env.PROXY}/openapi.json`],
    ['direct', `${env.DIRECT}/openapi.json`],
  ] as const;

describe('openapi-python-client', () => {
  test('makes both clients without a warning', async () => {
    for (const [name, url] of documents()) {
      const options = ['--url', url, '--meta', 'none', '--output-path', join(folder, name), '--fail-on-warning'];
      const { stdout, stderr } = await run(python, ['-m', 'openapi_python_client', 'generate', ...options], { env });
      expect(stdout + stderr).not.toMatch(/warning/i);
    }
  });

  test('they call the engine, and a refusal has its own class', async () => {
    const script = join(import.meta.dirname, 'call.py');
    const { stdout } = await run(python, [script, folder], { env });
    expect(JSON.parse(stdout)).toEqual([
      [200, 'Listing', staged],
      [401, 'Unauthenticated', 'unauthenticated'],
      [404, 'NotFound', 'not_found'],
      [200, 'list', 'EGAD1'],
      [200, 'list', env.FILE_ID],
      [403, 'Forbidden', 'forbidden'],
      [404, 'NotFound', 404],
      [200, 'bytes', 1000],
    ]);
  });
});

/** Compiles only where the refusals and the reasons have the types that the documents give them. */
const calls = `
import createClient from 'openapi-fetch';
import type { paths as DataOut } from './direct.ts';
import type { components, paths as Delivery } from './delivery.ts';

declare const process: { readonly env: Record<string, string> };
const { PROXY, DIRECT, BASIC, VISA, FILE_ID } = process.env as Record<string, string>;
type Schemas = components['schemas'];
export const codeOf = ({ status, code }: Schemas['Unauthenticated']): [401, 'unauthenticated'] => [status, code];
export const reasonOf = ({ reason }: Schemas['ListedExport']): 'not_released' | null =>
  reason === 'not_released' ? reason : null;

const deliveryOf = (visa: string) =>
  createClient<Delivery>({ baseUrl: PROXY!, headers: { authorization: 'Basic ' + BASIC, 'x-ga4gh-visa': visa } });
const dataOut = createClient<DataOut>({ baseUrl: DIRECT!, headers: { authorization: 'Bearer ' + VISA } });
const query = { inbox: 'false' };
const listed = await deliveryOf(VISA!).GET('/files', { params: { query } });
const refused = await deliveryOf('a.b.c').GET('/files', { params: { query } });
const lost = await dataOut.GET('/files/{fileId}/{name}', {
  params: { path: { fileId: FILE_ID!, name: 'other.txt' } },
});
const hidden = await dataOut.GET('/metadata/datasets/{datasetId}/files', { params: { path: { datasetId: 'EGAD404' } } });
console.log(
  JSON.stringify([listed.data?.files[0]?.fileName, refused.error?.code, lost.error?.code, hidden.error?.code]),
);
`;

test('openapi-typescript gives types under which calls compile, and the calls do what they say', async () => {
  await symlink(tools, join(folder, 'node_modules'));
  for (const [name, url] of documents()) {
    await run(join(tools, '.bin/openapi-typescript'), [url, '--output', join(folder, `${name}.ts`)], { env });
  }
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  await writeFile(join(folder, 'calls.ts'), calls);
  const strict = ['--strict', '--noEmit', '--target', 'es2022', '--module', 'nodenext', '--allowImportingTsExtensions'];
  const options = [...strict, '--lib', 'es2022,dom', '--skipLibCheck', 'calls.ts'];
  await run(join(tools, '.bin/tsc'), options, { cwd: folder, env }).catch((error: { readonly stdout: string }) => {
    throw new Error(error.stdout);
  });
  const { stdout } = await run(process.execPath, ['calls.ts'], { cwd: folder, env });
  expect(JSON.parse(stdout)).toEqual([staged, 'unauthenticated', 'not_found', 'forbidden']);
});
