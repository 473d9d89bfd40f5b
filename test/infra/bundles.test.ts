import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { assembly } from '../helpers/assembly.ts';
import { stackTemplate } from '../helpers/template.ts';

const direct = ['AuthorizeVisa', 'Datasets', 'DirectFile', 'Drs', 'Htsget'];
const verifying = ['AuthorizeOutbox', 'Files', 'Stream', 'ConsumeExport', ...direct];
const names = [
  'AuthorizeAdmin',
  'Export',
  'ExportStatus',
  'AdminPage',
  ...verifying,
  'ServiceInfo',
  'StageFile',
  'Withdraw',
  'Migrate',
  'Protect',
];
const metafiles: Readonly<Record<string, string>> = {
  AuthorizeAdmin: 'proxy-authorize-admin',
  Export: 'proxy-export',
  ExportStatus: 'proxy-export-status',
  AdminPage: 'proxy-admin-page',
  AuthorizeOutbox: 'proxy-authorize-outbox',
  Files: 'proxy-files',
  Stream: 'proxy-stream',
  ConsumeExport: 'data-out-consume-export',
  ServiceInfo: 'data-out-service-info',
  AuthorizeVisa: 'data-out-authorize-visa',
  Datasets: 'data-out-datasets',
  DirectFile: 'data-out-file',
  Drs: 'data-out-drs',
  Htsget: 'data-out-htsget',
  StageFile: 'data-out-stage-file',
  Withdraw: 'data-out-withdraw',
  Migrate: 'migrate',
  Protect: 'protect',
};

let folder: string;
let service: Awaited<ReturnType<typeof stackTemplate>>;
beforeAll(async () => {
  folder = await assembly();
  service = await stackTemplate('DataOutService');
});

/** Folder of the asset that a function is deployed from. */
function assetOf(name: string): string {
  const { S3Key } = service.at(`Functions/${name}/Function`).Properties.Code;
  return join(folder, `asset.${S3Key.replace(/\.zip$/, '')}`);
}

/** esbuild's report on a function's bundle. */
function metafileOf(name: string) {
  const { outputs } = JSON.parse(readFileSync(join(folder, 'metafiles', `${metafiles[name]}.json`), 'utf8'));
  const bundle = Object.entries(outputs).find(([name]) => name.endsWith('.mjs'))?.[1] as {
    inputs: Record<string, { bytesInOutput: number }>;
    imports: { path: string; kind: string }[];
  };
  return bundle;
}

/** Source files that esbuild found reachable from a function and kept bytes of. */
function sourcesOf(name: string): string[] {
  return Object.entries(metafileOf(name).inputs).flatMap(([source, { bytesInOutput }]) =>
    bytesInOutput > 0 ? [source] : [],
  );
}

describe.each(names)('%s', (name) => {
  test('is at most 1.5 MB, unzipped', () => {
    const asset = assetOf(name);
    const files = readdirSync(asset, { recursive: true, encoding: 'utf8' }).map((file) => statSync(join(asset, file)));
    expect(files.reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0)).toBeLessThanOrEqual(1_500_000);
  });

  test('holds neither the CDK nor an emulator nor other tools', () => {
    const foreign =
      /node_modules\/(aws-cdk-lib|constructs|cdk-nag|fauxqs|@electric-sql|commander|vitest)\/|lib\/(infra|local|ops)\//;
    const sources = sourcesOf(name);
    expect(sources.length).toBeGreaterThan(3);
    expect(sources.filter((source) => foreign.test(source))).toEqual([]);
  });

  test('holds no way to credentials but the environment, and loads no HTTP that it may not need', () => {
    const others = /\/credential-provider-(?!env\/)[a-z-]+\/|\/nested-clients\/|\/token-providers\//;
    expect(sourcesOf(name).filter((source) => others.test(source))).toEqual([]);
    const { imports } = metafileOf(name);
    expect(imports.filter(({ path, kind }) => path === 'node:http' && kind === 'import-statement')).toEqual([]);
  });

  test('holds no event streams, for which esbuild would keep the whole core of the SDK', () => {
    const sources = sourcesOf(name).filter((source) => source.includes('@smithy/core/dist-es/submodules/'));
    expect(sources.filter((source) => /\/submodules\/(event-streams|cbor)\//.test(source))).toEqual([]);
  });

  test('has the trusted issuers beside it exactly when it verifies visas', () => {
    expect(existsSync(join(assetOf(name), 'config/trusted-issuers.json'))).toBe(verifying.includes(name));
    const library = sourcesOf(name).some((source) => source.startsWith('lib/visas/verify'));
    expect(library).toBe(verifying.includes(name));
  });
});

test('the bundle that takes export requests has no visa library in it', () => {
  expect(sourcesOf('Export').filter((source) => /lib\/visas\/|node_modules\/jose\//.test(source))).toEqual([]);
});

test('migrations are inside the bundle, so a new one runs the trigger again', () => {
  const folder = join(import.meta.dirname, '../../lib/service/stores/rds/migrations');
  const migrations = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  expect(migrations.length).toBeGreaterThan(0);
  expect(sourcesOf('Migrate')).toEqual(
    expect.arrayContaining(migrations.map((name) => `lib/service/stores/rds/migrations/${name}`)),
  );
});

test('the module of the administrators’ page is made of this tree and zod, and needs nothing of Node', () => {
  const { inputs, outputs } = JSON.parse(readFileSync(join(folder, 'metafiles/admin-page.json'), 'utf8')) as {
    inputs: Record<string, { imports: { path: string; external?: boolean }[] }>;
    outputs: Record<string, { imports: unknown[] }>;
  };
  const sources = Object.keys(inputs);
  expect(sources).toEqual(
    expect.arrayContaining(['lib/client/admin-page/main.ts', 'lib/client/api/order/order-rules.ts']),
  );
  expect(sources.filter((source) => !/^(lib|node_modules\/zod)\//.test(source))).toEqual([]);
  expect(Object.values(outputs).flatMap(({ imports }) => imports)).toEqual([]);
  const { html } = JSON.parse(readFileSync(join(assetOf('AdminPage'), 'admin-page.json'), 'utf8')) as { html: string };
  // An address as an example, in an error of the client.
  expect(html.replace('https://data-out.example.org/v1/', '')).not.toMatch(
    /\bBuffer\b|\bprocess\.|\brequire\(|https?:\/\/|sessionStorage|document\.cookie|innerHTML/,
  );
  // The labels of recipients are kept in the browser, by one function, and nothing else is.
  expect(html.match(/localStorage/g)).toEqual(['localStorage']);
  // A stylesheet, a module or a separate picture would be another request, and another check of a password.
  expect(html).not.toMatch(/<link|<img|<script[^>]*src|@import|url\(/);
});
