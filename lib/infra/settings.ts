import * as z from 'zod';
import { bucketNameFault } from '../common/names.ts';
import { archiveCredentialsPolicies, withdrawalPolicies } from '../contract/environment.ts';

/** An object with these fields and no others. */
const fields = <S extends Readonly<Record<string, z.ZodType>>>(shape: S) =>
  z.strictObject(shape, { error: ({ code }) => (code === 'unrecognized_keys' ? undefined : 'expected an object') });
/** A field that can be left out. Its type has no `undefined`, which the check accepts as left out, too. */
const optional = <T extends z.ZodType>(type: T) => type.optional() as unknown as z.ZodExactOptional<T>;
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
const oneOf = <T extends string>(...values: readonly T[]) =>
  z.enum(values, { error: `expected ${values.map((value) => `'${value}'`).join(' or ')}` });
const arn = (service: string, resource: string, expected: string) =>
  match(new RegExp(`^arn:aws[a-z-]*:${service}:[a-z0-9-]+:\\d{12}:${resource}`), expected);

const pattern = z
  .string({ error: 'expected a regular expression' })
  .refine((text) => /^\^.*\$$/.test(text) && isRegularExpression(text), {
    error: 'expected a regular expression from ^ to $',
  });

function isRegularExpression(text: string): boolean {
  try {
    return new RegExp(text, 'u').source !== '';
  } catch {
    return false;
  }
}

/** The periods of CloudWatch Logs. The CDK has the same list, which a program that only checks need not load. */
const logPeriods = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653, 9999,
];

const keyArn = arn('kms', 'key/.+$', 'the ARN of a KMS key');
const secretArn = arn('secretsmanager', 'secret:.+-[A-Za-z0-9]{6}$', 'the complete ARN of a secret');
const hostName = match(
  /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/,
  'a host name in lower case',
);

/** Of a page (RFC 6454 § 6.1): `null` and wildcards are none. */
const origin = match(
  /^(https:\/\/([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,63}|http:\/\/(localhost|127\.0\.0\.1))(:[1-9]\d{0,4})?$/,
  'an origin such as https://genome.example.org',
);

/** A limit that API Gateway keeps approximately: past it, requests are answered with 429. */
const throttling = {
  /** Requests a second, 1–10,000. */
  requestsPerSecond: whole(1, 10_000),
  /** Requests at once, 1–5,000. */
  burst: whole(1, 5_000),
};

/**
 * Requests from one address within five minutes, each 10–2,000,000. Past it, requests are answered with 429 until they are fewer
 * (`docs/operations.md#a-firewall`).
 */
const firewall = fields({
  /** To both APIs together. Usual: 20,000. */
  requestsPerFiveMinutes: whole(10, 2_000_000),
  /** To `/export` and below and to `/admin`, where each attempt costs a password hash. Usual: 600. */
  exportRequestsPerFiveMinutes: whole(10, 2_000_000),
});

/** A host name of an API, with TLS 1.2 or newer. The API begins at its root, without `/v1`. */
const domain = fields({
  /** Such as `data.example.org`. */
  name: hostName,
  /** Certificate in AWS Certificate Manager, in the region of the deployment. */
  certificateArn: arn('acm', 'certificate/.+$', 'the ARN of a certificate'),
  /**
   * Public zone of Route 53 that gets the record. @default - you make the record, to the name in the output
   * `ProxyDomainTarget` or `DataOutDomainTarget`
   */
  hostedZone: optional(fields({ id: match(/^Z[A-Z0-9]{1,31}$/, 'the id of a hosted zone'), name: hostName })),
  /**
   * Whether the name that API Gateway gave still answers, beside this one: `on` while users move. With `off` it answers 403.
   * @default 'off'
   */
  defaultEndpoint: optional(oneOf('off', 'on')),
});

/** A cluster made by the storage stack. Capacities are Aurora capacity units (ACU) in steps of 0.5. */
const newDatabase = fields({
  /**
   * Least capacity, 0–256. 0 lets the cluster sleep: cheaper, but the first request after a pause takes 15 seconds or
   * more and is answered with 503 meanwhile, and deprecated datasets are looked for twice a day only. Usual: 0.5.
   */
  minCapacity: capacity(0),
  /** Most capacity, 1–256. */
  maxCapacity: capacity(1),
  /** Days of backups, 1–35. */
  backupDays: whole(1, 35),
});

/** A cluster that is there already: Aurora PostgreSQL with the RDS Data API switched on. */
const existingDatabase = fields({
  clusterArn: arn('rds', 'cluster:.+$', 'the ARN of an RDS cluster'),
  /** Secret with `username` and `password` of a role that may create the schemas. For the migration. */
  secretArn: secretArn,
  /** Customer key of the secret. @default - the secret is under the AWS managed key */
  secretKeyArn: optional(keyArn),
  /**
   * Secret with `username` `data_out_proxy` and a `password` of at least 16 printable ASCII characters, for the
   * authorizer of list and stream. The migration makes that role, which reads the archive users and nothing else. To make it,
   * the role in `secretArn` needs CREATEROLE. After a change of the password, invoke the function `Migrate`.
   * @default - the authorizer uses `secretArn`, with all rights of that role
   */
  proxySecretArn: optional(secretArn),
  /** Customer key of `proxySecretArn`. @default - that secret is under the AWS managed key */
  proxySecretKeyArn: optional(keyArn),
  /**
   * The same with `username` `data_out_reader`, for direct access. The migration makes that role, which reads datasets and
   * files and nothing else. To make it, the role in `secretArn` needs CREATEROLE. It must also own the tables of the schema
   * `sda`, or have SELECT on them with the right to grant it.
   * @default - direct access uses `secretArn`, with all rights of that role
   */
  readerSecretArn: optional(secretArn),
  /** Customer key of `readerSecretArn`. @default - that secret is under the AWS managed key */
  readerSecretKeyArn: optional(keyArn),
  /**
   * The same with `username` `data_out_worker`, for the functions that work on queues or on a schedule. The migration makes
   * that role, which reads datasets and files, appends to the audit trail, records what becomes of requests, their files and
   * copies, and does nothing else. The role in `secretArn` needs the same rights as for `readerSecretArn`.
   * @default - these functions use `secretArn`, with all rights of that role
   */
  workerSecretArn: optional(secretArn),
  /** Customer key of `workerSecretArn`. @default - that secret is under the AWS managed key */
  workerSecretKeyArn: optional(keyArn),
  /**
   * The same with `username` `data_out_auditor`, for the state of exports. The migration makes that role, which reads export
   * requests, their files and the audit trail, and does nothing else. To make it, the role in `secretArn` needs CREATEROLE.
   * @default - the function `ExportStatus` uses `secretArn`, with all rights of that role
   */
  auditorSecretArn: optional(secretArn),
  /** Customer key of `auditorSecretArn`. @default - that secret is under the AWS managed key */
  auditorSecretKeyArn: optional(keyArn),
  databaseName: match(/^[A-Za-z_][A-Za-z0-9_]{0,62}$/, 'a PostgreSQL name'),
  /** What `show max_connections` says, 20–262,143. An alarm goes off at two thirds of it. @default 1800 */
  maxConnections: optional(whole(20, 262_143)),
});

/** A bucket that is there already. */
const existingBucket = fields({
  bucketName: z.string({ error: 'expected the name of a bucket' }).superRefine((name, context) => {
    const fault = bucketNameFault(name);
    if (fault) context.addIssue({ code: 'custom', message: `expected the name of a bucket: ${fault}` });
  }),
  /** Customer key of its objects. @default - SSE-S3, no key is needed */
  keyArn: optional(keyArn),
});

/** A secret that is there already. */
const existingSecret = fields({
  /** Complete ARN, with the six characters at its end. */
  secretArn: secretArn,
  /** Customer key of the secret. @default - the secret is under the AWS managed key */
  keyArn: optional(keyArn),
});

/**
 * Everything an operator decides about one deployment. `bin/settings.ts` has the defaults, and `private/settings.ts` what an
 * operator sets. `checkSettings` refuses impossible values at synth.
 */
export const settingsSchema = fields({
  /**
   * Suffix of both stack names (`DataOutStorage-test`), to keep several deployments in one account and region.
   * Lower-case letters, digits and dashes, at most 20. @default - no suffix
   */
  stage: optional(match(/^[a-z0-9](?:[a-z0-9-]{0,18}[a-z0-9])?$/, '1-20 of a-z, 0-9 and inner dashes')),
  /**
   * What the deployment is for. A deployment for production trusts no issuer of smoke tests (docs/smoke-test.md).
   * @default 'production'
   */
  purpose: optional(oneOf('production', 'test')),
  /** Where to deploy. @default - the account and region of the credentials that run `cdk deploy` */
  target: optional(
    fields({
      account: match(/^\d{12}$/, '12 digits'),
      region: match(/^[a-z]{2}(-[a-z]+)+-\d$/, 'a region such as eu-north-1'),
    }),
  ),
  /** Last segment of `POST /export/{archive_kind}`: 1–64 of `a-z`, `0-9`, `-`, `_`. Usual: `fega`. */
  archiveKind: match(/^[a-z0-9_-]{1,64}$/, '1-64 of a-z, 0-9, - and _'),
  /**
   * Whether list and stream insist on the central archive's Basic credentials beside the visa. `when-presented` serves
   * clients that omit them on the outbox; wrong credentials are refused in both modes. Usual: `required`.
   */
  archiveCredentials: oneOf(...archiveCredentialsPolicies),
  /**
   * Whether the proxy serves a page for administrators at `GET /admin`, behind the same credentials as exports. A browser
   * then holds them until it is closed. @default false
   */
  adminPage: optional(z.boolean({ error: 'expected true or false' })),
  /** Days after which a staged container is deleted from the outbox, 1–365. Usual: 30. */
  outboxExpiryDays: whole(1, 365),
  /**
   * Whether the outbox gets a signed receipt when a delivery is settled (docs/delivery.md). Without it the end of an export
   * is in the database alone. @default true
   */
  deliveryReceipt: optional(z.boolean({ error: 'expected true or false' })),
  /**
   * How many keys for delivery receipts were made so far, 1–20. To rotate, raise it by one: the newest key signs, and the
   * public parts of all are served. Never lower it. @default 1
   */
  receiptKeys: optional(whole(1, 20)),
  /**
   * What happens to staged containers of a dataset whose newest event is `deprecated`. Every 15 minutes a function looks for
   * them, every 12 hours with `database.minCapacity: 0`. `report` counts them, and an alarm fires. `purge` deletes them, and
   * recipients can no longer download them. `off` looks for none: they stay until they expire. @default 'report'
   */
  withdrawal: optional(oneOf(...withdrawalPolicies)),
  /**
   * Most bytes in the outbox of one recipient, in GiB: 1–10,000,000. A request that would go beyond is rejected.
   * @default - no limit
   */
  outboxQuotaGib: optional(whole(1, 10_000_000)),
  /** htsget of the direct API. @default - no web page can use it */
  htsget: optional(
    fields({
      /** Origins of web pages that may use it, such as `https://genome.example.org`: genome browsers. @default - none */
      origins: optional(z.array(origin, { error: 'expected a list of origins' }).readonly()),
    }),
  ),
  /** Whether the direct API is there. With `off` its routes, functions and rights on keys are gone. @default 'on' */
  directAccess: optional(oneOf('on', 'off')),
  /** Life of a presigned URL in seconds, 60–3,600. Usual: 900 (15 minutes). */
  urlLifetimeSeconds: whole(60, 3_600),
  /** Seconds before the 2nd, 3rd, … attempt of a message that failed, each 1–3,600; the last one repeats. */
  retryDelaysSeconds: z
    .array(whole(1, 3_600), { error: 'expected a list of delays' })
    .min(1, { error: 'expected at least one delay' })
    .readonly(),
  /** How many requests are taken from all callers together, for each method of the two APIs by itself. */
  throttling: fields({
    ...throttling,
    /** The same for each route below `/export`, where each attempt costs a password hash. Usual: 5 with 10. */
    export: fields(throttling),
  }),
  /** Limits for each caller's address, kept by AWS WAF. @default - no firewall */
  firewall: optional(firewall),
  /** Host names of your own for the two APIs. @default - the names that API Gateway gives */
  domains: optional(fields({ proxy: optional(domain), dataOut: optional(domain) })),
  /**
   * How many invocations work on each queue at once, 2–1,000. Leave room below the account's limit of concurrent
   * functions (as low as 10 in new accounts) for the functions that answer requests.
   */
  concurrency: fields({
    exportRequests: whole(2, 1_000),
    /** Files over 8 MiB, one an invocation. */
    fileExports: whole(2, 1_000),
    /** Files of at most 8 MiB, up to ten an invocation. @default - as `fileExports` */
    smallFileExports: optional(whole(2, 1_000)),
    /**
     * How many direct files are streamed at once, and how many tickets and parts of htsget, 1–1,000 each. A stream holds its
     * function for up to five minutes, so without a limit one caller can use up the concurrency of the whole account. The
     * number is reserved twice from the account's limit, of which 100 must stay unreserved: a smaller account, such as a new one, needs `off`, which reserves
     * nothing. @default 100
     */
    directFiles: optional(
      z.union([whole(1, 1_000), z.literal('off')], { error: "expected a whole number from 1 to 1000, or 'off'" }),
    ),
  }),

  /** The catalogue's Aurora Serverless v2 cluster, or an existing one. */
  database: z.union([newDatabase, existingDatabase]),
  /**
   * Bucket with the archived bodies, in the region of the deployment. `data-out-ops archive add` writes there. Bodies whose
   * catalogue row has no `sda.files.archive_location` are read from there. @default - a new bucket under a new key
   */
  archiveBucket: optional(existingBucket),
  /**
   * Whether a new archive bucket keeps older versions of its objects. Without them, an overwritten or deleted body is lost. Not
   * for a bucket that is there already.
   * @default 'on'
   */
  archiveVersioning: optional(oneOf('on', 'off')),
  /**
   * More buckets with archived bodies. A row of the catalogue names one in `archive_location`, as `<endpoint>/<bucket>`,
   * `s3://<bucket>` or `<bucket>`; only the bucket counts. A file whose row names a bucket outside these settings
   * cannot be exported or fetched. @default - none
   */
  otherArchiveBuckets: optional(z.array(existingBucket, { error: 'expected a list of buckets' }).readonly()),
  /**
   * Regular expressions that stable ids of this archive match as a whole, from `^` to `$`. `data-out-ops archive add` refuses
   * others, so that a typing error makes no dataset. The functions do not look at them.
   */
  identifiers: optional(
    fields({
      /** @default '^EGAD\\d{1,11}$' */
      dataset: optional(pattern),
      /** A file that is added without an id gets `EGAF9` and ten digits. @default '^EGAF\\d{1,11}$' */
      file: optional(pattern),
    }),
  ),
  /** Secret with the archive's Crypt4GH key pairs. @default - a new, empty secret under a new key */
  archiveKeysSecret: optional(existingSecret),
  /**
   * Days after which Secrets Manager rotates the secrets of the database roles, 1–1,000. For a cluster that the storage stack
   * makes; the secrets of an existing one are rotated by their owner. @default - they are changed by hand
   */
  databaseRotationDays: optional(whole(1, 1_000)),
  /**
   * Address that receives the alarms by e-mail, once it has confirmed the message that AWS sends it. @default - none; the
   * topic in the output `AlarmTopicArn` takes subscriptions all the same
   */
  alarmEmail: optional(match(/^[^\s@]+@[^\s@]+$/, 'an e-mail address')),
  /**
   * Whether EventBridge gets an event for operators when an export request is accepted, rejected or settled. Events go to the
   * default bus of the account and region. Each names the request, its state and the deployment, and nothing else. An
   * event may be lost: `docs/runbook.md#events-for-operators`. @default 'off'
   */
  events: optional(oneOf('off', 'on')),
  /** Days to keep the functions' and the APIs' logs: one of the periods CloudWatch Logs knows. Usual: 90. */
  logRetentionDays: number('a period that CloudWatch Logs knows, such as 90', (days) => logPeriods.includes(days)),
  /**
   * Whether these logs outlive the service stack, until their days are over: they say who was given what, and why a
   * deployment was rolled back. The logs of functions that run inside a deployment are always kept. @default 'keep'
   */
  logsOnDestroy: optional(oneOf('keep', 'delete')),
  /**
   * The role through which API Gateway writes logs, one for the account and region. `create` makes it and names it to
   * API Gateway, in place of one that may be there; `present` leaves alone what the account has.
   */
  apiGatewayLogRole: oneOf('create', 'present'),
  /**
   * Whose key encrypts the logs of the service stack: `customer` makes a KMS key of your own for them. While it is disabled,
   * nothing can be read or written there.
   * @default 'aws'
   */
  logKeys: optional(oneOf('aws', 'customer')),
  /**
   * Whether CloudTrail records each read and write of an object in the archive and the outbox, for `bucketLogRetentionDays`.
   * @default 'off'
   */
  dataEvents: optional(oneOf('off', 'on')),
  /**
   * Days to keep the rows of the audit trail, and of requests that are settled: 30–36,500. @default - they are kept
   */
  auditRetentionDays: optional(whole(30, 36_500)),
  /** Days to keep the buckets' access logs, which say who fetched what from the outbox, 1–3,650. Usual: 365. */
  bucketLogRetentionDays: whole(1, 3_650),

  /** What `GET /service-info` says about this deployment (GA4GH service-info 1.0). */
  service: fields({
    /** Unique id in reverse domain name form, such as `org.example.data-out`. */
    id: match(/^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$/, 'a reverse domain name'),
    organizationName: match(/./, 'a name'),
    /** Web page of the organisation, `https://…`. */
    organizationUrl: match(/^https:\/\/\S+$/, 'an https:// address'),
  }),
});

export type Settings = Readonly<z.infer<typeof settingsSchema>>;
export type Throttling = Settings['throttling']['export'];
export type Firewall = Readonly<z.infer<typeof firewall>>;
export type Domain = Readonly<z.infer<typeof domain>>;
export type NewDatabase = Readonly<z.infer<typeof newDatabase>>;
export type ExistingDatabase = Readonly<z.infer<typeof existingDatabase>>;
export type ExistingBucket = Readonly<z.infer<typeof existingBucket>>;
export type ExistingSecret = Readonly<z.infer<typeof existingSecret>>;

/** Major version of Aurora PostgreSQL that a new cluster runs. AWS chooses the minor one, and upgrades it. */
export const databaseVersion = '18';

/** Invocations that the deployment reserves for direct access; 0: none. */
export function reservedForDirectFiles({ concurrency, directAccess }: Settings): number {
  const { directFiles = 100 } = concurrency;
  return directFiles === 'off' || directAccess === 'off' ? 0 : directFiles;
}
