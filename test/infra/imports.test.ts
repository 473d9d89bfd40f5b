import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { blocksOf, readPage } from '../helpers/pages.ts';

/**
 * Which way imports may go: an area may import itself, `contract`, `common`, `errors` and what is listed here. This keeps the CDK
 * out of the functions and the AWS SDK out of the format and the rules, and lets each part be tested alone.
 */
const allowed: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  common: [],
  errors: [],
  crypt4gh: [],
  regions: [],
  visas: [],
  terminal: [],
  'service/http': ['crypt4gh', 'visas'],
  'service/archive': ['crypt4gh', 'visas'],
  'service/containers': ['service/archive', 'crypt4gh'],
  'service/outbox': ['service/http', 'service/archive', 'visas'],
  'service/direct': ['service/http', 'service/archive', 'service/containers', 'crypt4gh', 'visas', 'regions'],
  // Stores and catalogue implement ports of the direct API and of the outbox. An export has none: its SQL is beside the functions that run it.
  'service/stores': ['service/archive', 'service/outbox', 'service/direct', 'crypt4gh'],
  'service/catalogue': ['service/stores', 'service/archive', 'service/outbox', 'service/direct'],
  'service/export': [
    'service/catalogue',
    'service/stores',
    'service/archive',
    'service/containers',
    'service/http',
    'crypt4gh',
    'visas',
  ],
  'client/api': ['crypt4gh'],
  'client/serve': ['client/api', 'crypt4gh', 'terminal'],
  'client/cli': ['client/api', 'client/serve', 'crypt4gh', 'terminal'],
  // Runs in a browser. Its tsconfig has no types of Node, so what it imports needs none either.
  'client/admin-page': ['client/api', 'crypt4gh'],
  'ops/stores': ['service/stores', 'service/archive', 'terminal'],
  'ops/catalogue': ['service/catalogue', 'service/stores'],
  'ops/audit': ['service/export', 'service/stores'],
  // An operator's command and a function take containers out of the outbox, and send files, by the same code.
  ops: [
    'ops/catalogue',
    'ops/audit',
    'ops/stores',
    'service/archive',
    'service/export',
    'service/stores',
    'crypt4gh',
    'terminal',
  ],
  'ops/preflight': ['infra', 'ops', 'ops/stores', 'service/stores', 'terminal'],
  'ops/smoke': [
    'ops',
    'ops/catalogue',
    'ops/stores',
    'client/api',
    'service/archive',
    'service/containers',
    'crypt4gh',
    'service/stores',
    'terminal',
  ],
  local: ['crypt4gh'],
  infra: [],
  lambdas: [
    'service/http',
    'service/export',
    'service/outbox',
    'service/direct',
    'service/catalogue',
    'service/stores',
    'visas',
    'package.json',
  ],
  'bin/settings.ts': ['infra'],
  // The operator's files over the defaults.
  'bin/operator-settings.ts': ['infra', 'bin/settings.ts'],
  // The visa library checks the operator's list of issuers before it is deployed.
  'bin/app.ts': ['infra', 'bin/settings.ts', 'bin/operator-settings.ts', 'visas'],
  'bin/data-out.ts': ['client/cli', 'terminal', 'package.json'],
  bin: ['ops', 'local', 'terminal', 'package.json'],
  'bin/docs': ['client/cli', 'ops', 'infra', 'bin/settings.ts', 'terminal'],
  'bin/build': ['client/cli', 'terminal', 'package.json'],
  'bin/build.ts': ['bin/build', 'package.json'],
  'bin/demo.ts': ['ops/smoke', 'local', 'bin/settings.ts', 'terminal'],
  'bin/preflight.ts': ['ops/preflight', 'infra', 'bin/operator-settings.ts', 'ops/stores', 'terminal'],
  'bin/smoke.ts': ['ops/smoke', 'infra', 'bin/settings.ts', 'bin/operator-settings.ts', 'terminal'],
};

/** Packages that only some areas may import, as a type or as a value. */
const reserved: readonly { readonly packages: RegExp; readonly areas: readonly string[] }[] = [
  // The engine's S3 and an export compute the same checksums. The first rule that fits wins.
  { packages: /^@aws-sdk\/checksums\//, areas: ['local', 'common'] },
  { packages: /^@smithy\/(core\/serde|signature-v4)$/, areas: ['local'] },
  { packages: /^@(aws-sdk|smithy|aws-crypto)\//, areas: ['service/stores', 'ops/stores', 'lambdas'] },
  { packages: /^(aws-cdk-lib|constructs|cdk-nag)(\/|$)/, areas: ['infra', 'bin/app.ts'] },
  { packages: /^@aws-lambda-powertools\//, areas: ['lambdas'] },
  { packages: /^(fauxqs|@electric-sql\/)/, areas: ['local'] },
  // Visas are verified without a network call. Outside the local engine no area can open a socket,
  // but for files that the client shows on the loopback, and for requests that the client's HTTP library refuses to send.
  { packages: /^(node:)?http$/, areas: ['local', 'client/serve', 'ops/smoke'] },
  { packages: /^(node:)?(http|https|http2|dgram|dns)(\/|$)/, areas: ['local', 'ops/smoke'] },
  // The client sets how its HTTP library opens a connection: which authorities it trusts, how much it reads at once.
  { packages: /^(node:)?tls(\/|$)/, areas: ['local', 'client/api'] },
  // A pipe on standard input is a socket to Node.js.
  { packages: /^(node:)?net(\/|$)/, areas: ['local', 'client/api', 'terminal'] },
  // One place that opens connections, so that one place decides which server sees a credential.
  { packages: /^undici(\/|$)/, areas: ['client/api'] },
];

/** Floors inside an area, lowest first: a file may import its own floor and those below. Files on none are below all. */
const floors: Readonly<Record<string, readonly string[]>> = {
  'lib/crypt4gh/': ['keys/', 'header/', 'body/', 'threads/', 'index.ts'],
  'lib/client/api/': ['download/disk/', 'download/', 'receipts/'],
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
    const fine = [area, 'contract', 'common', 'errors', ...(allowed[area] ?? [])].includes(target);
    return fine ? [] : [`${file}: ${area} -> ${target}`];
  });
}

/** `lib/service/http/reply.ts` → `service/http`, `lambdas/delivery/files.ts` → `lambdas`, `bin/app.ts` → itself. */
function areaOf(path: string): string {
  if (path in allowed) return path;
  const [top = '', second = '', third = ''] = path.split('/');
  if (`${top}/${second}` in allowed) return `${top}/${second}`;
  if (top !== 'lib') return top;
  if (second === 'errors.ts') return 'errors';
  return `${second}/${third}` in allowed ? `${second}/${third}` : second;
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

/** Files that import each other, directly or through others: each group with its files in order of their names. */
function circles(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const reachable = (from: string, seen = new Set<string>()): ReadonlySet<string> => {
    for (const to of graph.get(from) ?? []) if (!seen.has(to)) reachable(to, seen.add(to));
    return seen;
  };
  const reach = new Map([...graph.keys()].map((file) => [file, reachable(file)]));
  const groups = [...graph.keys()].map((file) => [...(reach.get(file) ?? [])].filter((to) => reach.get(to)?.has(file)));
  return [...new Set(groups.map((group) => group.sort().join(' ')))].filter(Boolean).map((group) => group.split(' '));
}

describe('import rules', () => {
  test('hold in every source file', () => {
    expect(files.length).toBeGreaterThan(60);
    expect(files.flatMap((file) => violations(file, readFileSync(join(root, file), 'utf8')))).toEqual([]);
  });

  test('hold between the floors of an area', () => {
    expect(files.flatMap((file) => upward(file, readFileSync(join(root, file), 'utf8')))).toEqual([]);
  });

  test('leave no circle between files', () => {
    const imports = (file: string) =>
      specifiers(readFileSync(join(root, file), 'utf8'))
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => posix.join(posix.dirname(file), specifier));
    expect(circles(new Map(files.map((file) => [file, imports(file)])))).toEqual([]);
  });

  test('know every area of the tree', () => {
    expect([...new Set(files.map(areaOf))].filter((area) => !(area in allowed))).toEqual([]);
  });

  test.each(['contract', 'common'])('leave nothing in %s that only one area needs', (shared) => {
    const users = new Map<string, Set<string>>();
    for (const file of files) {
      for (const specifier of specifiers(readFileSync(join(root, file), 'utf8'))) {
        const target = posix.join(posix.dirname(file), specifier);
        if (!specifier.startsWith('.') || areaOf(target) !== shared || areaOf(file) === shared) continue;
        users.set(target, (users.get(target) ?? new Set()).add(areaOf(file)));
      }
    }
    const inside = files.filter((file) => areaOf(file) === shared);
    expect(inside.length).toBeGreaterThan(5);
    expect(inside.filter((file) => (users.get(file)?.size ?? 0) < 2)).toEqual([]);
  });

  test('name every package that a command runs from source as a dependency, so that `npm ci --omit=dev` is enough', () => {
    const commands = ['data-out', 'data-out-ops', 'start', 'demo', 'smoke', 'preflight', 'app'].map(
      (name) => `bin/${name}.ts`,
    );
    const packages = reachablePackages(commands);
    expect(packages).toContain('undici');
    expect(packages).toContain('aws-cdk-lib');
    expect(packages.filter((name) => !(name in packageJson.dependencies))).toEqual([]);
  });

  test('keep the CDK out of what only asks the account', () => {
    expect(reachablePackages(['lib/ops/preflight/preflight.ts'])).not.toContain('aws-cdk-lib');
  });

  test.each([
    ['lib/service/export/sweep.ts', "import {\n  type S3Client,\n} from '@aws-sdk/client-s3';"],
    ['lib/local/engine.ts', "const handler = await import('../../lambdas/migrate.ts');"],
    ['lib/visas/keys.ts', "import { get } from 'node:https';"],
  ])('are broken by %s with %s', (file, source) => {
    expect(violations(file, source)).toHaveLength(1);
  });
});

describe('the picture of the walls in docs/architecture.md', () => {
  const page = readPage('docs/architecture.md');
  const text = blocksOf('docs/architecture.md', page).find(({ section }) => section === 'Walls')?.text ?? '';
  /** Areas by their names in the picture. */
  const drawn = new Map(
    [...text.matchAll(/(\w+)\["([^"]+)"\]/g)].map(([, name = '', path = '']) => [name, areaOf(`${path}/`)]),
  );
  const arrows = [...text.matchAll(/^ *(.+ --> .+)$/gm)].flatMap(([, line = '']) => {
    const steps = line.split(' --> ').map((nodes) => nodes.split(' & ').map((node) => /^\w+/.exec(node)?.[0] ?? ''));
    return steps
      .slice(1)
      .flatMap((targets, index) =>
        (steps[index] ?? []).flatMap((from) => targets.map((to) => [drawn.get(from) ?? from, drawn.get(to) ?? to])),
      ) as [string, string][];
  });
  /** Client and operator's tool are drawn as one room each, and the commands of `bin` not at all. */
  const roomOf = (area: string) => area.replace(/^(client|ops)\/.*/, '$1');
  const shared = ['contract', 'common', 'errors', 'package.json'];
  const rules = Object.entries(allowed)
    .filter(([area]) => !area.startsWith('bin'))
    .map(([area, targets]) => [roomOf(area), targets.filter((to) => !shared.includes(to)).map(roomOf)] as const);

  test('has no arrow that the rules forbid', () => {
    expect(arrows.length).toBeGreaterThan(15);
    const fine = ([from, to]: readonly [string, string]) =>
      rules.some(([room, targets]) => room === from && targets.includes(to));
    expect(arrows.filter((arrow) => !fine(arrow))).toEqual([]);
  });

  test('has every room, and a table has a line for each folder of lib, as CONTRIBUTING.md has for test', () => {
    const rooms = rules.map(([room]) => room).filter((room) => !shared.includes(room));
    expect(rooms.filter((room) => ![...drawn.values()].includes(room))).toEqual([]);
    const folders = (top: string) =>
      readdirSync(join(root, top), { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => name);
    const firstCells = [page, readPage('CONTRIBUTING.md')]
      .flatMap((text) => text.split('\n').filter((line) => line.startsWith('| `')))
      .map((line) => line.split(' | ')[0])
      .join();
    expect(folders('lib').filter((name) => !firstCells.includes(`\`lib/${name}/\``))).toEqual([]);
    expect(folders('test').filter((name) => !firstCells.includes(`\`${name}\``))).toEqual([]);
  });
});
