import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { blocksOf, readPage } from '../helpers/pages.ts';

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
  // An operator's command and a function take containers out of the outbox by the same code.
  // The operator reads what the reason codes of an export and of a visa mean.
  ops: ['archive', 'export', 'visas', 'crypt4gh', 'stores', 'terminal', 'releases'],
  client: ['crypt4gh'],
  cli: ['client', 'crypt4gh', 'terminal'],
  // Runs in a browser. Its tsconfig has no types of Node, so what it imports needs none either.
  'admin-page': ['client', 'crypt4gh'],
  // The calls of a file come from the plan by which it is written.
  cost: ['archive', 'terminal'],
  local: ['crypt4gh'],
  demo: ['ops', 'client', 'archive', 'crypt4gh', 'terminal'],
  smoke: ['demo', 'ops', 'client', 'archive', 'crypt4gh', 'stores', 'terminal'],
  infra: [],
  lambdas: ['api', 'http', 'archive', 'export', 'direct', 'visas', 'stores', 'package.json'],
  'bin/settings.ts': ['infra'],
  // The visa library checks the operator's list of issuers before it is deployed.
  // The operator's files over the defaults.
  'bin/operator-settings.ts': ['infra', 'bin/settings.ts'],
  'bin/app.ts': ['infra', 'bin/settings.ts', 'bin/operator-settings.ts', 'visas'],
  // What is paid for is counted in the templates of the operator's settings.
  'bin/cost.ts': ['cost', 'infra', 'bin/settings.ts', 'bin/operator-settings.ts'],
  'bin/data-out.ts': ['cli', 'terminal', 'package.json'],
  bin: ['ops', 'local', 'demo', 'smoke', 'terminal', 'package.json'],
  preflight: ['infra', 'visas', 'ops', 'stores', 'terminal'],
  'bin/preflight.ts': ['preflight', 'infra', 'bin/operator-settings.ts', 'stores', 'terminal'],
  'bin/smoke.ts': ['smoke', 'infra', 'bin/settings.ts', 'bin/operator-settings.ts', 'terminal'],
};

/** Packages that only some areas may import, as a type or as a value. */
const reserved: readonly { readonly packages: RegExp; readonly areas: readonly string[] }[] = [
  // Checksums are arithmetic: the engine's S3 computes those that a client states, an export those that S3 must find. The first
  // rule that fits counts.
  { packages: /^@aws-sdk\/checksums\//, areas: ['local', 'contract'] },
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

/** Floors inside an area, lowest first: a file may import its own floor and those below. Files on none are below all. */
const floors: Readonly<Record<string, readonly string[]>> = {
  'lib/crypt4gh/': ['keys/', 'header/', 'body/', 'threads/', 'index.ts'],
  'lib/client/': ['download/remote/', 'download/disk/', 'download/', 'delivery/'],
};

/** Every import of one file that goes up to a higher floor of its area. */
function upward(file: string, source: string): string[] {
  const [area = '', rooms = []] = Object.entries(floors).find(([prefix]) => file.startsWith(prefix)) ?? [];
  const floorOf = (path: string) => rooms.findIndex((room) => path.startsWith(`${area}${room}`));
  return specifiers(source)
    .map((specifier) => posix.join(posix.dirname(file), specifier))
    .filter((target) => floorOf(target) > floorOf(file))
    .map((target) => `${file} -> ${target}`);
}

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

  test('hold between the floors of an area', () => {
    expect(files.flatMap((file) => upward(file, readFileSync(join(root, file), 'utf8')))).toEqual([]);
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
    const commands = ['data-out', 'data-out-ops', 'start', 'demo', 'smoke', 'preflight', 'cost', 'app'].map(
      (name) => `bin/${name}.ts`,
    );
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
    ['lib/infra/functions/proxy.ts', "import '../../../lambdas/proxy/files.ts';"],
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

  test.each([
    ['lib/crypt4gh/sizes.ts', "import { openHeader } from './header/open-header.ts';"],
    ['lib/crypt4gh/header/packets.ts', "import type { ByteRange } from '../body/positions.ts';"],
    ['lib/crypt4gh/body/reader.ts', "import { decrypt } from '../index.ts';"],
    ['lib/client/proxy.ts', "import { StagedFile } from './download/remote/staged-file.ts';"],
    ['lib/client/download/disk/journal.ts', "import { Transfer } from '../transfer.ts';"],
    ['lib/client/download/check.ts', "import type { Claim } from '../delivery/claims.ts';"],
  ])('are broken between floors by %s with %s', (file, source) => {
    expect(upward(file, source)).toHaveLength(1);
  });

  test('allow what is listed', () => {
    expect(upward('lib/crypt4gh/threads/a.ts', "import { seal } from '../sealed.ts';")).toEqual([]);
    expect(violations('lib/stores/a.ts', "import { S3Client } from '@aws-sdk/client-s3';")).toEqual([]);
    expect(violations('lambdas/proxy/a.ts', "import { required } from '../shared/runtime.ts';")).toEqual([]);
    expect(violations('lib/http/a.ts', "// import { x } from '../stores/y.ts';\nimport { z } from 'zod';")).toEqual([]);
  });
});

describe('the module map of CONTRIBUTING.md', () => {
  const [picture] = blocksOf('CONTRIBUTING.md').filter(({ language }) => language === 'mermaid');
  const text = picture?.text ?? '';
  /** Areas by their names in the picture. */
  const drawn = new Map(
    [...text.matchAll(/(\w+)\["([^"]+)"\]/g)].map(([, name = '', path = '']) => [
      name,
      areaOf(`${path}/`.replace('.ts/', '.ts')),
    ]),
  );
  const arrows = [...text.matchAll(/^ *(.+ --> .+)$/gm)].flatMap(([, line = '']) => {
    const areas = line.split(' --> ').map((node) => drawn.get(/^\w+/.exec(node)?.[0] ?? '') ?? node);
    return areas.slice(1).map((to, index) => [areas[index] ?? '', to] as const);
  });

  /** What an area may import by way of the arrows. */
  function reached(from: string, seen = new Set<string>()): ReadonlySet<string> {
    for (const [, to] of arrows.filter(([area]) => area === from)) {
      if (!seen.has(to)) reached(to, seen.add(to));
    }
    return seen;
  }

  test('draws no arrow that the rules forbid', () => {
    expect(arrows.length).toBeGreaterThan(20);
    expect(arrows.filter(([from, to]) => !allowed[from]?.includes(to))).toEqual([]);
  });

  test('leads everywhere that the rules allow', () => {
    const missing = Object.entries(allowed).flatMap(([from, targets]) => {
      const there = reached(from);
      return targets.filter((to) => to !== 'package.json' && !there.has(to)).map((to) => `${from} -> ${to}`);
    });
    expect(missing).toEqual([]);
  });

  test('has a line for each folder of lib and test', () => {
    const page = readPage('CONTRIBUTING.md');
    const folders = (top: string) =>
      readdirSync(join(root, top), { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => name);
    const lines = page.split('\n').filter((line) => line.startsWith('| `'));
    const firstCells = lines.map((line) => line.split(' | ')[0]).join();
    expect(folders('lib').filter((name) => !firstCells.includes(`\`lib/${name}/\``))).toEqual([]);
    expect(folders('test').filter((name) => !firstCells.includes(`\`${name}\``))).toEqual([]);
    expect(folders('lib').filter((name) => name !== 'contract' && ![...drawn.values()].includes(name))).toEqual([]);
  });
});
