import { inspect } from 'node:util';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import * as z from 'zod';
import { archiveCredentialsPolicies } from '../contract/archive-credentials.ts';
import { bucketNameFault } from '../contract/bucket-name.ts';
import { operatorFiles } from '../contract/operator-files.ts';
import { withdrawalPolicies } from '../contract/withdrawal.ts';
import type {
  Domain,
  ExistingBucket,
  ExistingDatabase,
  ExistingSecret,
  Firewall,
  NewDatabase,
  Settings,
  Throttling,
} from './settings.ts';
import { SettingsError } from './settings-error.ts';

export { SettingsError } from './settings-error.ts';

/** An object with these fields and no others. The type makes sure that no field of `T` is forgotten. */
const fields = <T extends object>(shape: Record<keyof T, z.ZodType>) =>
  z.strictObject(shape, { error: ({ code }) => (code === 'unrecognized_keys' ? undefined : 'expected an object') });
const match = (pattern: RegExp, expected: string) => {
  const error = `expected ${expected}`;
  return z.string({ error }).regex(pattern, { error });
};
const number = (expected: string, holds: (value: number) => boolean) => {
  const error = `expected ${expected}`;
  return z.number({ error }).refine(holds, { error });
};
const whole = (from: number, to: number) =>
  number(`a whole number from ${from} to ${to}`, (value) => Number.isInteger(value) && value >= from && value <= to);
/** Aurora capacity units. */
const capacity = (from: number) =>
  number(`${from}-256 in steps of 0.5`, (value) => Number.isInteger(value * 2) && value >= from && value <= 256);
const oneOf = (...values: string[]) =>
  z.enum(values, { error: `expected ${values.map((value) => `'${value}'`).join(' or ')}` });
const arn = (service: string, resource: string, expected: string) =>
  match(new RegExp(`^arn:aws[a-z-]*:${service}:[a-z0-9-]+:\\d{12}:${resource}`), expected);

const pattern = z
  .string({ error: 'expected a regular expression' })
  .refine((text) => /^\^.*\$$/.test(text) && isRegularExpression(text), {
    error: 'expected a regular expression from ^ to $',
  })
  .optional();

const keyArn = arn('kms', 'key/.+$', 'the ARN of a KMS key').optional();
const secretArn = arn('secretsmanager', 'secret:.+-[A-Za-z0-9]{6}$', 'the complete ARN of a secret');
const bucket = fields<ExistingBucket>({
  bucketName: z.string({ error: 'expected the name of a bucket' }).superRefine((name, context) => {
    const fault = bucketNameFault(name);
    if (fault) context.addIssue({ code: 'custom', message: `expected the name of a bucket: ${fault}` });
  }),
  keyArn,
});
const hostName = match(
  /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/,
  'a host name in lower case',
);
const domain = fields<Domain>({
  name: hostName,
  certificateArn: arn('acm', 'certificate/.+$', 'the ARN of a certificate'),
  hostedZone: fields<NonNullable<Domain['hostedZone']>>({
    id: match(/^Z[A-Z0-9]{1,31}$/, 'the id of a hosted zone'),
    name: hostName,
  }).optional(),
  defaultEndpoint: oneOf('off', 'on').optional(),
});
const throttling = { requestsPerSecond: whole(1, 10_000), burst: whole(1, 5_000) };
const newDatabase = fields<NewDatabase>({
  minCapacity: capacity(0),
  maxCapacity: capacity(1),
  backupDays: whole(1, 35),
});
const existingDatabase = fields<ExistingDatabase>({
  clusterArn: arn('rds', 'cluster:.+$', 'the ARN of an RDS cluster'),
  secretArn,
  secretKeyArn: keyArn,
  proxySecretArn: secretArn.optional(),
  proxySecretKeyArn: keyArn,
  auditorSecretArn: secretArn.optional(),
  auditorSecretKeyArn: keyArn,
  readerSecretArn: secretArn.optional(),
  readerSecretKeyArn: keyArn,
  workerSecretArn: secretArn.optional(),
  workerSecretKeyArn: keyArn,
  databaseName: match(/^[A-Za-z_][A-Za-z0-9_]{0,62}$/, 'a PostgreSQL name'),
  maxConnections: whole(20, 262_143).optional(),
});

const schema = (database: z.ZodType) =>
  fields<Settings>({
    stage: match(/^[a-z0-9](?:[a-z0-9-]{0,18}[a-z0-9])?$/, '1-20 of a-z, 0-9 and inner dashes').optional(),
    purpose: oneOf('production', 'test').optional(),
    target: fields<NonNullable<Settings['target']>>({
      account: match(/^\d{12}$/, '12 digits'),
      region: match(/^[a-z]{2}(-[a-z]+)+-\d$/, 'a region such as eu-north-1'),
    }).optional(),
    archiveKind: match(/^[a-z0-9_-]{1,64}$/, '1-64 of a-z, 0-9, - and _'),
    archiveCredentials: oneOf(...archiveCredentialsPolicies),
    adminPage: z.boolean({ error: 'expected true or false' }).optional(),
    outboxExpiryDays: whole(1, 365),
    deliveryReceipt: z.boolean({ error: 'expected true or false' }).optional(),
    receiptKeys: whole(1, 20).optional(),
    withdrawal: oneOf(...withdrawalPolicies).optional(),
    outboxQuotaGib: whole(1, 10_000_000).optional(),
    directAccess: oneOf('on', 'off').optional(),
    urlLifetimeSeconds: whole(60, 3_600),
    retryDelaysSeconds: z
      .array(whole(1, 3_600), { error: 'expected a list of delays' })
      .min(1, { error: 'expected at least one delay' }),
    throttling: fields<Settings['throttling']>({ ...throttling, export: fields<Throttling>(throttling) }),
    firewall: fields<Firewall>({
      requestsPerFiveMinutes: whole(10, 2_000_000),
      exportRequestsPerFiveMinutes: whole(10, 2_000_000),
    }).optional(),
    domains: fields<NonNullable<Settings['domains']>>({
      proxy: domain.optional(),
      dataOut: domain.optional(),
    }).optional(),
    concurrency: fields<Settings['concurrency']>({
      exportRequests: whole(2, 1_000),
      fileExports: whole(2, 1_000),
      smallFileExports: whole(2, 1_000).optional(),
      directFiles: z
        .union([whole(1, 1_000), z.literal('off')], { error: "expected a whole number from 1 to 1000, or 'off'" })
        .optional(),
    }),
    database,
    archiveBucket: bucket.optional(),
    archiveVersioning: oneOf('on', 'off').optional(),
    identifiers: fields<NonNullable<Settings['identifiers']>>({ dataset: pattern, file: pattern }).optional(),
    otherArchiveBuckets: z.array(bucket, { error: 'expected a list of buckets' }).optional(),
    archiveKeysSecret: fields<ExistingSecret>({ secretArn, keyArn }).optional(),
    databaseRotationDays: whole(1, 1_000).optional(),
    alarmEmail: match(/^[^\s@]+@[^\s@]+$/, 'an e-mail address').optional(),
    events: oneOf('off', 'on').optional(),
    logRetentionDays: number('a period that CloudWatch Logs knows, such as 90', (days) => days in RetentionDays),
    logsOnDestroy: oneOf('keep', 'delete').optional(),
    apiGatewayLogRole: oneOf('create', 'present'),
    logKeys: oneOf('aws', 'customer').optional(),
    dataEvents: oneOf('off', 'on').optional(),
    auditRetentionDays: whole(30, 36_500).optional(),
    bucketLogRetentionDays: whole(1, 3_650),
    service: fields<Settings['service']>({
      id: match(/^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$/, 'a reverse domain name'),
      organizationName: match(/./, 'a name'),
      organizationUrl: match(/^https:\/\/\S+$/, 'an https:// address'),
    }),
  });

function isRegularExpression(text: string): boolean {
  try {
    return new RegExp(text, 'u').source !== '';
  } catch {
    return false;
  }
}

/** Check every field, and report all mistakes at once. @throws SettingsError */
export function checkSettings(settings: Settings): void {
  const { database } = settings;
  const isExisting = typeof database === 'object' && database !== null && 'clusterArn' in database;
  const { error } = schema(isExisting ? existingDatabase : newDatabase).safeParse(settings);
  const faults = [
    ...(error?.issues ?? []).flatMap((issue) => faultsOf(issue, settings)),
    ...contradictions(new Map(leaves(settings))),
  ];
  if (faults.length > 0) throw new SettingsError(`${operatorFiles.settings} cannot work:\n  ${faults.join('\n  ')}`);
}

function faultsOf(issue: z.core.$ZodIssue, settings: Settings): readonly string[] {
  if (issue.code !== 'unrecognized_keys') {
    return [`${nameOf(issue.path)}: ${issue.message}, got ${shown(valueAt(settings, issue.path))}`];
  }
  return issue.keys.map((key) => `${nameOf([...issue.path, key])}: expected no such field`);
}

function valueAt(settings: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce((value: unknown, key) => (value as Readonly<Record<PropertyKey, unknown>>)[key], settings);
}

/** A wrong value on one line, cut where it is long. */
function shown(value: unknown): string {
  const text = value === undefined ? 'nothing' : inspect(value, { breakLength: Number.POSITIVE_INFINITY });
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

/** A field's name as an operator writes it: `retryDelaysSeconds[1]`, `database.secretArn`. */
function nameOf(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '');
}

/** Every value that is not an object, by the name of its field. */
function* leaves(value: unknown, path: readonly PropertyKey[] = []): Generator<readonly [string, unknown]> {
  if (typeof value !== 'object' || value === null) {
    if (value !== undefined) yield [nameOf(path), value];
    return;
  }
  for (const [key, inner] of Object.entries(value))
    yield* leaves(inner, [...path, Array.isArray(value) ? Number(key) : key]);
}

/** Contradictions between fields. */
function contradictions(values: ReadonlyMap<string, unknown>): readonly string[] {
  return [
    ...(moreThan(values, 'database.minCapacity', 'database.maxCapacity')
      ? ['database.maxCapacity: expected no less than database.minCapacity']
      : []),
    ...keptTooShort(values),
    ...['proxy', 'auditor', 'reader', 'worker'].flatMap((role) => {
      const [secret, key] = [`database.${role}SecretArn`, `database.${role}SecretKeyArn`];
      return values.has(key) && !values.has(secret) ? [`${key}: expected ${secret} beside it`] : [];
    }),
    ...(moreThan(values, 'firewall.exportRequestsPerFiveMinutes', 'firewall.requestsPerFiveMinutes')
      ? ['firewall.exportRequestsPerFiveMinutes: expected no more than firewall.requestsPerFiveMinutes']
      : []),
    ...['proxy', 'dataOut'].flatMap((api) => outsideZone(values, `domains.${api}`)),
    ...repeated(values, /^domains\.\w+\.name$/, 'another name than'),
    ...(values.has('archiveVersioning') && values.has('archiveBucket.bucketName')
      ? ['archiveVersioning: expected no such field beside archiveBucket']
      : []),
    ...withoutDirectAccess(values),
    ...(values.has('databaseRotationDays') && values.has('database.clusterArn')
      ? ['databaseRotationDays: expected none beside database.clusterArn: its secrets are rotated by their owner']
      : []),
    ...repeated(values, /secretArn$/i, 'another secret than'),
    ...repeated(values, /rchiveBuckets?(\[\d+\])?\.bucketName$/, 'another bucket than'),
    ...elsewhere(values),
  ];
}

/** Rows say what the outbox has, and which dead letters are of which request. They must be there for longer than both. */
function keptTooShort(values: ReadonlyMap<string, unknown>): readonly string[] {
  const [kept, staged] = [values.get('auditRetentionDays'), values.get('outboxExpiryDays')];
  const isTooShort = typeof kept === 'number' && typeof staged === 'number' && kept < staged + 30;
  return isTooShort ? ['auditRetentionDays: expected at least 30 more than outboxExpiryDays'] : [];
}

function moreThan(values: ReadonlyMap<string, unknown>, field: string, other: string): boolean {
  const [value, limit] = [values.get(field), values.get(other)];
  return typeof value === 'number' && typeof limit === 'number' && value > limit;
}

/** A name that its zone cannot hold. */
function outsideZone(values: ReadonlyMap<string, unknown>, domain: string): readonly string[] {
  const [name, zone] = [values.get(`${domain}.name`), values.get(`${domain}.hostedZone.name`)];
  if (typeof name !== 'string' || typeof zone !== 'string') return [];
  if (name === zone || name.endsWith(`.${zone}`)) return [];
  return [`${domain}.name: expected a name in the zone ${domain}.hostedZone.name`];
}

/** Fields that are about direct access only. */
const ofDirectAccess = ['concurrency.directFiles', 'domains.dataOut', 'database.readerSecretArn'];

function withoutDirectAccess(values: ReadonlyMap<string, unknown>): readonly string[] {
  if (values.get('directAccess') !== 'off') return [];
  const names = [...values.keys()];
  return ofDirectAccess
    .filter((field) => names.some((name) => name === field || name.startsWith(`${field}.`)))
    .map((field) => `${field}: expected no such field while directAccess is off`);
}

/** Fields of one kind that have the value of an earlier one. */
function repeated(values: ReadonlyMap<string, unknown>, kind: RegExp, expected: string): readonly string[] {
  const first = new Map<unknown, string>();
  return [...values].flatMap(([name, value]) => {
    if (!kind.test(name)) return [];
    const earlier = first.get(value);
    if (earlier === undefined) first.set(value, name);
    return earlier === undefined ? [] : [`${name}: expected ${expected} ${earlier}`];
  });
}

/** ARNs of another region or account than `target`'s; without one, than the first ARN's. */
function elsewhere(values: ReadonlyMap<string, unknown>): readonly string[] {
  const arns = [...values].flatMap(([name, value]) => {
    const [, region, account] = /^arn:[^:]*:[^:]*:([^:]+):([^:]+):/.exec(String(value)) ?? [];
    return region === undefined ? [] : [{ name, region, account }];
  });
  const [region, account] = [values.get('target.region'), values.get('target.account')];
  const isGiven = typeof region === 'string' && typeof account === 'string';
  const place = isGiven ? { name: 'target', region, account } : arns[0];
  return arns
    .filter(({ region, account }) => region !== place?.region || account !== place?.account)
    .map(
      ({ name }) => `${name}: expected region ${place?.region} and account ${place?.account}, those of ${place?.name}`,
    );
}
