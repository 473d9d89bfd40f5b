import { existsSync, globSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { assembly } from '../helpers/assembly.ts';
import { stackTemplate } from '../helpers/template.ts';

/** A deployed function with esbuild's report on its bundle. */
interface Bundle {
  readonly name: string;
  readonly asset: string;
  /** Entry file, from the root of the repository. */
  readonly entry: string;
  readonly imports: readonly { readonly path: string; readonly kind: string }[];
  /** Source files that esbuild found reachable from the function and kept bytes of. */
  readonly sources: readonly string[];
}

type Report = Pick<Bundle, 'imports'> & {
  readonly bytes: number;
  readonly entryPoint: string;
  readonly inputs: Readonly<Record<string, { readonly bytesInOutput: number }>>;
};

let folder: string;
/** Of every function of the template but the one that the CDK brings. */
let bundles: readonly Bundle[];

beforeAll(async () => {
  folder = await assembly();
  const reports = readdirSync(join(folder, 'metafiles')).flatMap((file) => {
    const { outputs } = JSON.parse(readFileSync(join(folder, 'metafiles', file), 'utf8')) as {
      outputs: Readonly<Record<string, Report>>;
    };
    return Object.entries(outputs).flatMap(([path, report]) => (path.endsWith('.mjs') ? [report] : []));
  });
  const service = await stackTemplate('DataOutService');
  const functions = service
    .all('AWS::Lambda::Function')
    .filter(({ Properties }) => Properties.Handler === 'index.handler');
  bundles = functions.map(({ Properties, Metadata }) => {
    const name = Metadata?.['aws:cdk:path']?.split('/').at(-3) ?? '';
    const asset = join(folder, `asset.${Properties.Code.S3Key.replace(/\.zip$/, '')}`);
    const { size } = statSync(join(asset, 'index.mjs'));
    // The functions of the two OpenAPI documents have the same code, and other documents beside it.
    const [report, ...others] = reports.filter(({ bytes }) => bytes === size);
    if (!report || (others.length > 0 && !name.endsWith('OpenApi')))
      throw new Error(`${name} has ${others.length + 1} reports of ${size} bytes`);
    const sources = Object.entries(report.inputs).flatMap(([source, { bytesInOutput }]) =>
      bytesInOutput > 0 ? [source] : [],
    );
    return { name, asset, entry: report.entryPoint, imports: report.imports, sources };
  });
}, 120_000);

const bundleOf = (name: string) => bundles.find((bundle) => bundle.name === name)!;

/** What the functions have that they must not have, each with the name of its function. */
const found = (of: (bundle: Bundle) => readonly string[]) =>
  bundles.flatMap((bundle) => of(bundle).map((what) => `${bundle.name}: ${what}`));

describe('every function', () => {
  test('has an entry file, and each entry file is of one', () => {
    const entries = globSync('lambdas/{*,delivery/*,direct/*,export/*}.ts', {
      cwd: join(import.meta.dirname, '../..'),
    });
    // One serves both OpenAPI documents.
    expect([...new Set(bundles.map(({ entry }) => entry))].sort()).toEqual(entries.sort());
    for (const { name, sources } of bundles) expect(sources.length, name).toBeGreaterThan(2);
  });

  test('is at most 1.5 MB, unzipped', () => {
    for (const { name, asset } of bundles) {
      const files = readdirSync(asset, { recursive: true, encoding: 'utf8' }).map((file) =>
        statSync(join(asset, file)),
      );
      const bytes = files.reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
      expect(bytes, name).toBeLessThanOrEqual(1_500_000);
    }
  });

  test('holds neither the CDK nor an emulator nor other tools', () => {
    // Event streams would keep the whole core of the SDK.
    const foreign =
      /@smithy\/core\/dist-es\/submodules\/.*\/?(event-streams|cbor)\/|node_modules\/(aws-cdk-lib|constructs|cdk-nag|fauxqs|@electric-sql|commander|vitest)\/|lib\/(infra|local|ops)\//;
    expect(found(({ sources }) => sources.filter((source) => foreign.test(source)))).toEqual([]);
  });

  test('holds no way to credentials but the environment, and loads no HTTP that it may not need', () => {
    const others = /\/credential-provider-(?!env\/)[a-z-]+\/|\/nested-clients\/|\/token-providers\//;
    expect(found(({ sources }) => sources.filter((source) => others.test(source)))).toEqual([]);
    const isEager = ({ path, kind }: Bundle['imports'][number]) => path === 'node:http' && kind === 'import-statement';
    expect(found(({ imports }) => imports.filter(isEager).map(({ path }) => path))).toEqual([]);
  });

  test('has the trusted issuers beside it exactly when it verifies visas or names their issuers', () => {
    const names = (has: (bundle: Bundle) => boolean) =>
      bundles
        .filter(has)
        .map(({ name }) => name)
        .toSorted();
    const verifying = names(({ sources }) => sources.some((source) => source.startsWith('lib/visas/verify')));
    expect(verifying).toContain('ConsumeExport');
    // The function that takes requests has no visa library at all.
    expect(bundleOf('Export').sources.filter((source) => /lib\/visas\/|node_modules\/jose\//.test(source))).toEqual([]);
    expect(names(({ asset }) => existsSync(join(asset, 'config/trusted-issuers.json')))).toEqual(
      [...verifying, 'About'].toSorted(),
    );
  });
});

test('migrations are inside the bundle, so a new one runs the trigger again', () => {
  const folder = 'lib/service/stores/rds/migrations';
  const migrations = readdirSync(join(import.meta.dirname, '../..', folder)).filter((name) => name.endsWith('.sql'));
  expect(migrations.length).toBeGreaterThan(0);
  const sources = migrations.map((name) => `${folder}/${name}`);
  expect(bundleOf('Migrate').sources).toEqual(expect.arrayContaining(sources));
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
  const { html } = JSON.parse(readFileSync(join(bundleOf('AdminPage').asset, 'admin-page.json'), 'utf8')) as {
    html: string;
  };
  // An address as an example, in an error of the client.
  expect(html.replace('https://data-out.example.org/v1/', '')).not.toMatch(
    /\bBuffer\b|\bprocess\.|\brequire\(|https?:\/\/|localStorage|sessionStorage|document\.cookie|innerHTML/,
  );
  // A stylesheet, a module or a separate picture would be another request, and another check of a password.
  expect(html).not.toMatch(/<link|<img|<script[^>]*src|@import|url\(/);
});
