import { createHash } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { systemTiming } from '../../lib/common/timing.ts';
import { connection } from '../../lib/contract/connection.ts';
import { formatPrivateKey, generateKeyPair, type KeyPair } from '../../lib/crypt4gh/index.ts';
import { RdsErasure } from '../../lib/ops/audit/erasure.ts';
import type { AuditRow } from '../../lib/ops/audit/trail.ts';
import { type ArchiveRegistration, CatalogueConflictError, type Removal } from '../../lib/ops/catalogue/writer.ts';
import { runOps } from '../../lib/ops/program.ts';
import { type EditableSecret, SecretChangedError } from '../../lib/ops/stores/json-secret.ts';
import type { Target } from '../../lib/ops/target.ts';
import type { Terminal } from '../../lib/terminal/terminal.ts';
import type { ExportPipeline } from './export-pipeline.ts';

/** A deployment in memory, behind the ports of the operator's tool. */
export interface OpsWorld {
  readonly target: Target;
  readonly archiveKey: KeyPair;
  /** Bodies by key. */
  readonly bodies: Map<string, Buffer>;
  readonly files: Map<string, ArchiveRegistration>;
  /** Dataset ids of each file. */
  readonly memberships: Map<string, Set<string>>;
  /** Newest event of each dataset. */
  readonly events: Map<string, string | undefined>;
  readonly users: Map<string, string>;
  readonly audit: AuditRow[];
  /** In the order in which they were carried out. */
  readonly removals: Removal[];
  readonly secrets: { administrators: unknown; archiveKeys: unknown; visaDenyList: unknown };
  /** One of the secrets, as another process has it. */
  readonly secret: (name: keyof OpsWorld['secrets']) => EditableSecret;
  /** Calls in order: `upload`, `registerFile`, `remove`, … */
  readonly calls: string[];
  /** Throws instead of the call of that name; `after` when the call has had its effect. */
  readonly failures: Map<string, { readonly error: Error; readonly after?: boolean }>;
}

/** @param exports for commands about exports; the world has no queues without it */
export async function makeOpsWorld(exports?: ExportPipeline): Promise<OpsWorld> {
  const archiveKey = generateKeyPair();
  const bodies = new Map<string, Buffer>();
  const files = new Map<string, ArchiveRegistration>();
  const memberships = new Map<string, Set<string>>();
  const events = new Map<string, string | undefined>();
  const users = new Map<string, string>();
  const secrets = {
    administrators: { users: [] } as unknown,
    archiveKeys: { keys: [{ privateKey: await formatPrivateKey(archiveKey.privateKey) }] } as unknown,
    visaDenyList: { denied: [] } as unknown,
  };
  const audit: AuditRow[] = [];
  const removals: Removal[] = [];
  const calls: string[] = [];
  const failures = new Map<string, { error: Error; after?: boolean }>();

  const call = async <T>(name: string, effect: () => T | Promise<T>): Promise<T> => {
    calls.push(name);
    const failure = failures.get(name);
    if (failure && !failure.after) throw failure.error;
    const value = await effect();
    if (failure) throw failure.error;
    return value;
  };
  const link = (fileId: string, datasetId: string) => {
    memberships.set(fileId, (memberships.get(fileId) ?? new Set()).add(datasetId));
    if (!events.has(datasetId)) events.set(datasetId, 'registered');
  };
  const datasetsOf = (fileId: string) => [...(memberships.get(fileId) ?? [])];
  const summary = (datasetId: string) => {
    const members = [...files.values()].filter((file) => memberships.get(file.fileId)?.has(datasetId));
    return {
      datasetId,
      newestEvent: events.get(datasetId),
      files: members.length,
      bytes: members.reduce((sum, file) => sum + file.decryptedFileSize, 0),
    };
  };

  const catalogue: Target['catalogue'] = {
    findFile: (fileId) =>
      call('findFile', () => {
        const file = files.get(fileId);
        if (!file) return undefined;
        const { header: _, checksums, ...row } = file;
        return {
          ...row,
          unencryptedSha256: checksums.find((each) => each.source === 'UNENCRYPTED')?.checksum,
          datasetIds: datasetsOf(fileId),
          releasedIn: datasetsOf(fileId).filter((datasetId) => events.get(datasetId) === 'released'),
        };
      }),
    registerFile: (file) =>
      call('registerFile', () => {
        if (!bodies.has(file.archiveFilePath)) throw new Error('the body is not in the bucket yet');
        if ((files.get(file.fileId)?.archiveFilePath ?? file.archiveFilePath) !== file.archiveFilePath) {
          throw new CatalogueConflictError(`file id ${file.fileId} is taken by a file with another body`);
        }
        files.set(file.fileId, file);
        link(file.fileId, file.datasetId);
      }),
    async *files(datasetId) {
      calls.push('files');
      for (const file of [...files.values()].sort((a, b) => (a.fileId < b.fileId ? -1 : 1))) {
        if (datasetId !== undefined && !datasetsOf(file.fileId).includes(datasetId)) continue;
        const { fileId, submissionFilePath, submissionFileSize, decryptedFileSize } = file;
        yield { fileId, submissionFilePath, submissionFileSize, decryptedFileSize, datasetIds: datasetsOf(fileId) };
      }
    },
    removeFile: (removal) =>
      call('removeFile', () => {
        const { fileId, datasetId } = removal;
        const members = datasetsOf(fileId);
        const left = datasetId === undefined ? members : [datasetId];
        if (!files.has(fileId) || left.some((id) => events.get(id) === 'released')) return undefined;
        const isWhole = members.every((id) => left.includes(id));
        if (isWhole) files.delete(fileId);
        memberships.set(fileId, new Set(members.filter((id) => !left.includes(id))));
        removals.push(removal);
        return isWhole ? 'removed' : 'held_elsewhere';
      }),
    addToDataset: (fileId, datasetId) => call('addToDataset', () => link(fileId, datasetId)),
    findDataset: (datasetId) => call('findDataset', () => (events.has(datasetId) ? summary(datasetId) : undefined)),
    async *datasets() {
      for (const datasetId of [...events.keys()].sort()) yield summary(datasetId);
    },
    appendDatasetEvent: (datasetId, event) =>
      call('appendDatasetEvent', () => {
        if (events.has(datasetId)) events.set(datasetId, event);
      }),
  };
  const secret = (name: keyof typeof secrets): EditableSecret => {
    let seen: { readonly value: unknown } | undefined;
    return {
      read: () =>
        call(`read ${name}`, () => {
          seen = { value: secrets[name] };
          return secrets[name];
        }),
      write: (value) =>
        call(`write ${name}`, () => {
          if (seen && seen.value !== secrets[name]) throw new SecretChangedError();
          secrets[name] = structuredClone(value);
          seen = { value: secrets[name] };
        }),
    };
  };

  const target: Target = {
    description: 'a deployment in memory',
    connection: undefined,
    directUrl: 'https://direct.example.org/v1/',
    identifiers: { dataset: /^EGAD\d{1,11}$/u, file: /^EGAF\d{1,11}$/u },
    catalogue,
    bodies: {
      location: 'https://s3.example/archive',
      upload: (key, source) =>
        call('upload', async () => {
          const chunks: Uint8Array[] = [];
          for await (const chunk of source) chunks.push(Buffer.from(chunk));
          const body = Buffer.concat(chunks);
          bodies.set(key, body);
          return { size: body.length };
        }),
      holds: (location) => (location ?? 'https://s3.example/archive') === 'https://s3.example/archive',
      remove: (key) => call('remove', () => void bodies.delete(key)),
    },
    archiveHeaders: {
      keyUses: async () =>
        Object.entries(Object.groupBy(files.values(), ({ keyHash }) => keyHash)).map(([keyHash, of]) => ({
          keyHash: keyHash || undefined,
          files: of?.length ?? 0,
        })),
      async *stored(except = []) {
        for (const { fileId, header, keyHash } of [...files.values()]) {
          if (!except.includes(keyHash)) yield { fileId, rowId: fileId, header, digest: digestOf(header) };
        }
      },
      replace: ({ rowId, digest }, header, keyHash) =>
        call('replace header', () => {
          const file = files.get(rowId);
          if (!file || digestOf(file.header) !== digest) return false;
          files.set(rowId, { ...file, header, keyHash });
          return true;
        }),
    },
    archiveUsers: {
      find: (username) =>
        call('find user', () =>
          users.has(username) ? { username, passwordHash: users.get(username) ?? '' } : undefined,
        ),
      save: (username, hash) => call('save user', () => void users.set(username, hash)),
      async *list() {
        for (const username of [...users.keys()].sort()) {
          yield { username, createdAt: '2026-11-01T10:00:00Z', disabledAt: undefined };
        }
      },
      disable: (username) => call('disable user', () => void users.delete(username)),
    },
    audit: {
      async *newest({ requestId, datasetId, fileId, recipient }, limit) {
        const wanted = audit.filter(
          (row) =>
            (requestId === undefined || row.requestId === requestId) &&
            (datasetId === undefined || row.datasetId === datasetId) &&
            (fileId === undefined || row.fileId === fileId) &&
            (recipient === undefined || row.recipient === recipient),
        );
        yield* wanted.reverse().slice(0, limit);
      },
    },
    ...(exports ? partsOf(exports) : ({} as ReturnType<typeof partsOf>)),
    administrators: secret('administrators'),
    archiveKeys: secret('archiveKeys'),
    visaDenyList: secret('visaDenyList'),
  };
  return {
    target,
    archiveKey,
    bodies,
    files,
    memberships,
    events,
    users,
    audit,
    removals,
    secrets,
    secret,
    calls,
    failures,
  };
}

const partsOf = ({ db, outbox, removing, retrying }: ExportPipeline) => ({
  ...{ outbox, removal: removing, retrying, erasure: new RdsErasure(db) },
});

const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** The outcome of a run of the tool. */
export interface ToolRun {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What it printed with `--json`. */
export const rowsOf = ({ stdout }: ToolRun) =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

/** No terminal: it asks no questions, and standard input is empty. Its clock stands still. */
export function makeTerminal(choices: Partial<Terminal> = {}) {
  const said = { stdout: '', stderr: '' };
  const terminal: Terminal = {
    input: inputOf(),
    write: (text) => {
      said.stdout += text;
    },
    report: (text) => {
      said.stderr += text;
    },
    output: new PassThrough(),
    outputIsTerminal: false,
    isTerminal: false,
    size: () => undefined,
    ask: undefined,
    askAside: undefined,
    env: {},
    folder: '/nowhere',
    signal: new AbortController().signal,
    now: () => new Date('2026-11-21T10:00:00.000Z'),
    ...choices,
  };
  return { terminal, said };
}

/** Standard input with these chunks. */
export async function* inputOf(...chunks: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}

/** Run the tool against a deployment in memory. */
export async function runTool(
  argv: readonly string[],
  target: Target,
  choices: Partial<Terminal> = {},
): Promise<ToolRun> {
  const { terminal, said } = makeTerminal(choices);
  const exitCode = await runOps(argv, terminal, async () => target, systemTiming, '1.2.3');
  return { exitCode, ...said };
}

/** The connection file of an engine that does not run: nothing listens on these ports. */
export const exampleConnection = connection.parse({
  proxyUrl: 'http://127.0.0.1:9/proxy',
  dataOutUrl: 'http://127.0.0.1:9/data-out',
  s3Endpoint: 'http://127.0.0.1:9',
  sqsEndpoint: 'http://127.0.0.1:9',
  admin: { username: 'admin', password: 'admin-password' },
  archiveUser: { username: 'central', password: 'central-password' },
  issuer: { iss: 'https://issuer.example.org', jwksPath: '/nowhere/jwks.json', privateKeyPath: '/nowhere/issuer.json' },
  archiveKey: { publicKeyPath: '/nowhere/archive.pub' },
  region: 'eu-north-1',
  credentials: { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'example' },
  endpoints: Object.fromEntries(
    Object.keys(connection.shape.endpoints.shape).map((service) => [service, 'http://127.0.0.1:9']),
  ),
  outputs: {
    ProxyUrl: 'http://127.0.0.1:9/proxy',
    DataOutUrl: 'http://127.0.0.1:9/data-out',
    ArchiveBucketName: 'archive',
    OutboxBucketName: 'outbox',
    AdminSecretArn: 'arn:aws:secretsmanager:eu-north-1:000000000000:secret:admin',
    ArchiveKeysSecretArn: 'arn:aws:secretsmanager:eu-north-1:000000000000:secret:keys',
    VisaDenyListSecretArn: 'arn:aws:secretsmanager:eu-north-1:000000000000:secret:denied',
    DatabaseClusterArn: 'arn:aws:rds:eu-north-1:000000000000:cluster:catalogue',
    DatabaseSecretArn: 'arn:aws:secretsmanager:eu-north-1:000000000000:secret:database',
    DatabaseAuditorSecretArn: 'arn:aws:secretsmanager:eu-north-1:000000000000:secret:auditor',
    DatabaseName: 'catalogue',
    OutboxExpiryDays: '30',
    DatasetIdPattern: '^EGAD\\d{1,11}$',
    FileIdPattern: '^EGAF\\d{1,11}$',
    ...Object.fromEntries(
      ['ExportRequests', 'FileExports', 'SmallFileExports', 'Deliveries'].flatMap((name) => [
        [`${name}QueueUrl`, `http://127.0.0.1:9/${name}`],
        [`${name}DeadLetterQueueUrl`, `http://127.0.0.1:9/${name}-dead`],
      ]),
    ),
    RedriveRoleArn: 'arn:aws:iam::000000000000:role/redrive',
  },
  logsDir: '/nowhere/logs',
});
