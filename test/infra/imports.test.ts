import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };

/**
 * Which way imports may go: an area may import itself, `contract`, `errors` and what is listed here. This keeps the CDK
 * out of the functions and the AWS SDK out of the format and the rules, and lets each part be tested alone.
 */
const allowed: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  errors: [],
  crypt4gh: [],
  visas: [],
  http: [],
  archive: ['crypt4gh', 'visas'],
  export: ['archive', 'crypt4gh', 'visas'],
  direct: ['archive', 'crypt4gh', 'visas'],
  // Of the API, the stores know what it asks of them, and no route.
  stores: ['lib/api/ports.ts', 'archive', 'export', 'direct', 'crypt4gh'],
  'lib/api/ports.ts': ['archive'],
  api: ['lib/api/ports.ts', 'http', 'archive', 'direct', 'visas', 'crypt4gh'],
  terminal: [],
  releases: [],
  ops: ['archive', 'crypt4gh', 'stores', 'terminal', 'releases'],
  client: ['crypt4gh'],
  cli: ['client', 'crypt4gh', 'terminal'],
  local: ['crypt4gh'],
  demo: ['ops', 'client', 'crypt4gh', 'terminal'],
  infra: [],
  lambdas: ['api', 'http', 'archive', 'export', 'direct', 'visas', 'stores', 'package.json'],
  'bin/settings.ts': ['infra'],
  // The visa library checks the operator's list of issuers before it is deployed.
  'bin/app.ts': ['infra', 'bin/settings.ts', 'visas'],
  'bin/data-out.ts': ['cli', 'terminal', 'package.json'],
  bin: ['ops', 'local', 'demo', 'terminal', 'package.json'],
};

/** Packages that only some areas may import, as a type or as a value. */
const reserved: readonly { readonly packages: RegExp; readonly areas: readonly string[] }[] = [
  // Checksums are arithmetic: the engine's S3 computes those that a client states. The first rule that fits counts.
  { packages: /^@aws-sdk\/checksums\//, areas: ['local'] },
  { packages: /^@(aws-sdk|smithy|aws-crypto)\//, areas: ['stores', 'lambdas'] },
  { packages: /^(aws-cdk-lib|constructs|cdk-nag)(\/|$)/, areas: ['infra', 'bin/app.ts'] },
  { packages: /^@aws-lambda-powertools\//, areas: ['lambdas'] },
  { packages: /^(fauxqs|@electric-sql\/)/, areas: ['local'] },
  // Visas are verified without a network call. Outside the local engine no area can open a socket.
  { packages: /^(node:)?(http|https|http2|dgram|dns)(\/|$)/, areas: ['local'] },
  // The client sets how its HTTP library opens a connection: which authorities it trusts, how much it reads at once.
  { packages: /^(node:)?(net|tls)(\/|$)/, areas: ['local', 'client'] },
  // One place that opens connections, so that one place decides which server sees a credential.
  { packages: /^undici(\/|$)/, areas: ['client'] },
];

/** Every import the rules forbid in one file, as `area -> target`. */
function violations(file: string, source: string): string[] {
  const area = areaOf(file);
  return specifiers(source).flatMap((specifier) => {
    if (!specifier.startsWith('.')) {
      const rule = reserved.find(({ packages }) => packages.test(specifier));
      return rule && !rule.areas.includes(area) ? [`${file}: ${area} -> ${specifier}`] : [];
    }
    const target = areaOf(posix.join(posix.dirname(file), specifier));
    const fine = [area, 'contract', 'errors', ...(allowed[area] ?? [])].includes(target);
    return fine ? [] : [`${file}: ${area} -> ${target}`];
  });
}

/** `lib/http/reply.ts` → `http`, `lambdas/proxy/files.ts` → `lambdas`, `bin/app.ts` → itself. */
function areaOf(path: string): string {
  if (path in allowed) return path;
  const [top = '', second = ''] = path.split('/');
  if (top === 'lib') return second === 'errors.ts' ? 'errors' : second;
  return top;
}

/** What a file imports or exports from elsewhere. Biome keeps strings in single quotes, so this need not parse. */
function specifiers(source: string): string[] {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
  const statement = /^(?:import|export)\b[^;'"]*?\bfrom\s*'([^']+)'|^import\s*'([^']+)'|(?<!")\bimport\(\s*'([^']+)'/gm;
  return [...code.matchAll(statement)].map(([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? '');
}

const root = join(import.meta.dirname, '../..');
const files = ['lib', 'lambdas', 'bin'].flatMap((top) =>
  readdirSync(join(root, top), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => posix.join(top, name.replaceAll('\\', '/'))),
);

/** Packages imported by `entries` and by all that they import. */
function reachablePackages(entries: readonly string[]): string[] {
  const seen = new Set<string>();
  const packages = new Set<string>();
  const visit = (file: string) => {
    if (seen.has(file) || !file.endsWith('.ts')) return;
    seen.add(file);
    for (const specifier of specifiers(readFileSync(join(root, file), 'utf8'))) {
      if (specifier.startsWith('.')) visit(posix.join(posix.dirname(file), specifier));
      else if (!isBuiltin(specifier)) packages.add(/^(?:@[^/]+\/)?[^/]+/.exec(specifier)![0]);
    }
  };
  entries.forEach(visit);
  return [...packages].sort();
}

describe('import rules', () => {
  test('hold in every source file', () => {
    expect(files.length).toBeGreaterThan(60);
    expect(files.flatMap((file) => violations(file, readFileSync(join(root, file), 'utf8')))).toEqual([]);
  });

  test('know every area of the tree', () => {
    expect([...new Set(files.map(areaOf))].filter((area) => !(area in allowed))).toEqual([]);
  });

  test('leave nothing in the contract that only one area needs', () => {
    const users = new Map<string, Set<string>>();
    for (const file of files) {
      for (const specifier of specifiers(readFileSync(join(root, file), 'utf8'))) {
        const target = posix.join(posix.dirname(file), specifier);
        if (!specifier.startsWith('.') || areaOf(target) !== 'contract' || areaOf(file) === 'contract') continue;
        users.set(target, (users.get(target) ?? new Set()).add(areaOf(file)));
      }
    }
    const contract = files.filter((file) => areaOf(file) === 'contract');
    expect(contract.length).toBeGreaterThan(10);
    expect(contract.filter((file) => (users.get(file)?.size ?? 0) < 2)).toEqual([]);
  });

  test('name every package that a command runs from source as a dependency, so that `npm ci --omit=dev` is enough', () => {
    const commands = ['data-out', 'data-out-ops', 'start', 'demo', 'app'].map((name) => `bin/${name}.ts`);
    const packages = reachablePackages(commands);
    expect(packages).toContain('undici');
    expect(packages).toContain('aws-cdk-lib');
    expect(packages.filter((name) => !(name in packageJson.dependencies))).toEqual([]);
  });

  test.each([
    ['lib/crypt4gh/header.ts', "import { x } from '../visas/index.ts';"],
    ['lib/visas/visa.ts', "import type { x } from '../export/ports.ts';"],
    ['lib/export/stage.ts', "import {\n  type S3Client,\n} from '@aws-sdk/client-s3';"],
    ['lib/api/outbox/files.ts', "import { S3Outbox } from '../../stores/s3/outbox-reader.ts';"],
    ['lib/http/reply.ts', "import { Representation } from '../direct/representation.ts';"],
    ['lib/archive/header.ts', "import { stage } from '../export/stage.ts';"],
    ['lib/direct/part.ts', "import type { Wanted } from '../export/ports.ts';"],
    ['lib/api/export/request-export.ts', "import { stage } from '../../export/stage.ts';"],
    ['lib/infra/functions.ts', "import '../../lambdas/proxy/files.ts';"],
    ['lib/local/engine.ts', "const handler = await import('../../lambdas/migrate.ts');"],
    ['lib/stores/s3.ts', "import { listFiles } from '../api/outbox/list-files.ts';"],
    ['lib/stores/s3.ts', "export { logger } from '@aws-lambda-powertools/logger';"],
    ['lambdas/migrate.ts', "import { Duration } from 'aws-cdk-lib';"],
    ['lib/ops/add.ts', "import { PGlite } from '@electric-sql/pglite';"],
    ['lib/visas/keys.ts', "import { get } from 'node:https';"],
    ['lib/contract/limits.ts', "import { describe } from '../helpers/assembly.ts';"],
    ['lib/client/transport.ts', "import { GetObjectCommand } from '@aws-sdk/client-s3';"],
    ['lib/client/proxy.ts', "import { S3Outbox } from '../stores/s3/outbox-reader.ts';"],
    ['lib/cli/main.ts', "import { Pool } from 'undici';"],
    ['lib/terminal/output.ts', "import { exitCodes } from '../ops/errors.ts';"],
    ['lib/releases/plan.ts', "import type { Terminal } from '../terminal/terminal.ts';"],
    // The service itself never speaks to a registry.
    ['lib/stores/s3.ts', "import { ApiClient } from '../releases/api-client.ts';"],
    ['bin/data-out-ops.ts', "import { settings } from './settings.ts';"],
  ])('are broken by %s with %s', (file, source) => {
    expect(violations(file, source)).toHaveLength(1);
  });

  test('allow what is listed', () => {
    expect(violations('lib/stores/a.ts', "import { S3Client } from '@aws-sdk/client-s3';")).toEqual([]);
    expect(violations('lambdas/proxy/a.ts', "import { required } from '../shared/runtime.ts';")).toEqual([]);
    expect(violations('lib/http/a.ts', "// import { x } from '../stores/y.ts';\nimport { z } from 'zod';")).toEqual([]);
  });
});
