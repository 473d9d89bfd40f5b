import * as z from 'zod';
import { bucketNameFault } from '../common/names.ts';
import { archiveCredentialsPolicies, withdrawalPolicies } from '../contract/environment.ts';
import { compatibleClients } from './apis/compatibility.ts';

/**
 * A field that can be left out. Its type has no `undefined`, which the check also accepts as left out.
 *
 * @param fallback what applies then: a value, or words for `docs/settings.md`. Only where `bin/settings.ts` has no default
 */
const optional = <T extends z.ZodType>(type: T, fallback?: string | number) =>
  type.optional().meta({ fallback }) as unknown as z.ZodExactOptional<T>;
/** @param expected what the text is, for the error and for `docs/settings.md` */
const match = (pattern: RegExp, expected: string) =>
  z
    .string()
    .regex(pattern, { error: `Expected ${expected}` })
    .meta({ expected });
const whole = (from: number, to: number) => z.int().min(from).max(to);
/** Aurora capacity units. */
const capacity = (from: number) => z.number().min(from).max(256).multipleOf(0.5);
const arn = (service: string, resource: string, expected: string) =>
  match(new RegExp(`^arn:aws[a-z-]*:${service}:[a-z0-9-]+:\\d{12}:${resource}`), expected);

const pattern = match(/^\^.*\$$/, 'a regular expression from ^ to $').refine(isRegularExpression, {
  error: 'Expected a valid regular expression',
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
  requestsPerSecond: whole(1, 10_000),
  burst: whole(1, 5_000).describe('Requests at once.'),
};

const domain = z.strictObject({
  name: hostName,
  certificateArn: arn('acm', 'certificate/.+$', 'the ARN of a certificate').describe(
    'In the region of the deployment.',
  ),
});

export const newDatabase = z.strictObject({
  minCapacity: capacity(0).describe(
    'Least capacity of a new Aurora Serverless cluster, in ACU. With 0 the cluster sleeps: cheaper, but the first request after a pause gets 503 for 15 seconds or more, and deprecated datasets are looked for every 12 hours only.',
  ),
  maxCapacity: capacity(1).describe('Most capacity, in ACU.'),
  backupDays: whole(1, 35).describe('Days of backups.'),
});

const keyOfSecret = optional(keyArn, 'the AWS managed key').describe('Customer key of the secret.');

export const existingDatabase = z.strictObject({
  clusterArn: arn('rds', 'cluster:.+$', 'the ARN of an RDS cluster').describe(
    'An existing cluster of Aurora PostgreSQL with the RDS Data API, instead of the three fields above. It can serve one deployment.',
  ),
  secretArn: secretArn.describe(
    'Secret with `username` and `password` of a role that can create schemas, for migrations.',
  ),
  secretKeyArn: keyOfSecret,
  databaseName: match(/^[A-Za-z_][A-Za-z0-9_]{0,62}$/, 'a PostgreSQL name'),
});

const existingBucket = z.strictObject({
  bucketName: z
    .string()
    .superRefine((name, context) => {
      const fault = bucketNameFault(name);
      if (fault) context.addIssue({ code: 'custom', message: `Invalid name of a bucket: ${fault}` });
    })
    .meta({ expected: 'the name of a bucket' }),
  keyArn: optional(keyArn, 'no key, SSE-S3').describe('Customer key of its objects.'),
});

const existingSecret = z.strictObject({
  secretArn,
  keyArn: keyOfSecret,
});

/**
 * Everything an operator decides about one deployment. `bin/settings.ts` has the defaults, and `private/settings.ts` what an
 * operator sets. `checkSettings` refuses impossible values at synth. `npm run docs` writes `docs/settings.md` from this.
 */
export const settingsSchema = z.strictObject({
  stage: optional(
    match(/^[a-z0-9](?:[a-z0-9-]{0,18}[a-z0-9])?$/, '1-20 of a-z, 0-9 and inner dashes'),
    'no suffix',
  ).describe('Suffix of both stack names (`DataOutStorage-test`), for several deployments in one account and region.'),
  purpose: optional(z.enum(['production', 'test']), 'production').describe(
    'Only a deployment for tests accepts [an issuer of smoke tests](smoke-test.md#the-visa).',
  ),
  target: optional(
    z.strictObject({
      account: match(/^\d{12}$/, '12 digits'),
      region: match(/^[a-z]{2}(-[a-z]+)+-\d$/, 'a region such as eu-north-1'),
    }),
    'those of the credentials',
  ).describe('Where to deploy.'),
  archiveKind: match(/^[a-z0-9_-]{1,64}$/, '1-64 of a-z, 0-9, - and _').describe(
    'Last segment of `POST /export/{archive_kind}`.',
  ),
  archiveCredentials: z
    .enum(archiveCredentialsPolicies)
    .describe(
      "Whether list and stream demand the central archive's password in addition to the visa. Some clients omit it. A wrong password is refused either way.",
    ),
  adminPage: optional(z.boolean()).describe(
    'Whether `GET /admin` serves administrators a page ([what that means](../SECURITY.md#a-web-page-in-an-administrators-browser)).',
  ),
  outboxExpiryDays: whole(1, 365).describe('Days until a staged container is deleted from the outbox.'),
  deliveryReceipt: optional(z.boolean()).describe(
    'Whether a settled export gets a signed [receipt](delivery.md). Otherwise only the database has its end.',
  ),
  receiptKeys: optional(whole(1, 20)).describe(
    'How many keys for receipts exist. The newest signs. [Raise it by one to rotate](operations.md#rotate-the-key-of-delivery-receipts), and never lower it.',
  ),
  withdrawal: optional(z.enum(withdrawalPolicies)).describe(
    'What happens to [containers of a deprecated dataset](runbook.md#withdrawninoutbox): nothing until they expire, an alarm, or deletion.',
  ),
  login: optional(
    z.strictObject({
      issuer: match(
        /^(https:\/\/[^\s/?#]|http:\/\/(localhost|127\.0\.0\.1)\b)[^\s?#]*$/,
        'the https:// address of an OpenID provider',
      ).describe('As its OpenID configuration writes it. It must offer the device flow, and visas at `userinfo`.'),
      clientId: match(/^\S{1,255}$/, 'a client id without spaces').describe(
        'Of a public client, without a secret, that [you registered there](trusted-issuers.md#let-researchers-sign-in).',
      ),
      scopes: optional(
        z
          .array(match(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'a scope'))
          .readonly()
          .refine((scopes) => scopes.includes('openid'), { error: 'Expected openid among the scopes' })
          .meta({ expected: 'a list of scopes with `openid`' }),
        '`openid`, `ga4gh_passport_v1`',
      ).describe('What `data-out login` asks for.'),
    }),
    'none',
  ).describe('Where researchers [sign in](trusted-issuers.md#let-researchers-sign-in) to get their visas.'),
  outboxQuotaGib: optional(whole(1, 10_000_000), 'no limit').describe(
    'GiB that one recipient can have in the outbox. An export that would exceed it is refused. A container is in the sum until 2 days after `outboxExpiryDays`, because S3 deletes late.',
  ),
  htsget: optional(
    z.strictObject({
      origins: optional(
        z.array(origin).readonly().meta({ expected: 'a list of origins such as https://genome.example.org' }),
        'none',
      ).describe('Origins of web pages that can use htsget, but never with cookies.'),
    }),
    'none',
  ),
  compatibility: optional(
    z.array(z.enum(compatibleClients)).readonly().meta({ expected: "a list of 'sda' and 'ega'" }),
    'none',
  ).describe(
    '[Clients of other archives](clients.md#sda-cli) whose own routes the direct API has: sda-cli and pyEGA3.',
  ),
  directAccess: optional(z.enum(['on', 'off']), 'on').describe(
    'Whether [the direct API](operations.md#without-the-direct-api) exists, with its functions and rights.',
  ),
  urlLifetimeSeconds: whole(60, 3_600).describe('Life of a presigned URL.'),
  throttling: z
    .strictObject({
      ...throttling,
      export: z
        .strictObject(throttling)
        .describe('The same for each method at and below `/export`, for `/admin` and for `/ega/token`.'),
    })
    .describe('Limits of each method of the two APIs, for all callers together.'),
  domains: optional(
    z.strictObject({ proxy: optional(domain), dataOut: optional(domain) }),
    'names of API Gateway',
  ).describe('[Your own host names](operations.md#your-own-host-names) for the two APIs.'),
  concurrency: z
    .strictObject({
      exportRequests: whole(2, 1_000),
      fileExports: whole(2, 1_000).describe('Files over 8 MiB, one per invocation.'),
      smallFileExports: optional(whole(2, 1_000), 'as `fileExports`').describe(
        'Smaller files, up to ten per invocation.',
      ),
      directFiles: optional(
        z
          .union([whole(1, 1_000), z.literal('off')], { error: "Expected a whole number from 1 to 1000, or 'off'" })
          .meta({ expected: "1–1000, or 'off'" }),
        100,
      ).describe(
        "Direct files that are streamed at the same time, and as many htsget requests. Both are reserved from the account's limit, of which 100 must stay unreserved. `'off'` reserves nothing, so one caller can use up the account.",
      ),
    })
    .describe(
      'Invocations that work on each queue at the same time. Leave the account room for the functions that answer requests.',
    ),
  database: z.union([newDatabase, existingDatabase]),
  archiveBucket: optional(existingBucket, 'a new bucket and key').describe(
    'Bucket with the archived bodies, in the region of the deployment. `archive add` writes there.',
  ),
  otherArchiveBuckets: optional(
    z.array(existingBucket).readonly().meta({ expected: 'a list of buckets' }),
    'none',
  ).describe(
    'More buckets with bodies. `sda.files.archive_location` names one, as `<endpoint>/<bucket>`, `s3://<bucket>` or `<bucket>`. Files in other buckets cannot be exported.',
  ),
  identifiers: optional(
    z.strictObject({
      dataset: optional(pattern, String.raw`^EGAD\d{1,11}$`),
      file: optional(pattern, String.raw`^EGAF\d{1,11}$`),
    }),
  ).describe('Ids that `archive add` accepts, so that a typing error makes no dataset. Functions do not check them.'),
  archiveKeysSecret: optional(existingSecret, 'a new secret and key').describe(
    "Secret with the archive's Crypt4GH key pairs.",
  ),
  alarmEmail: optional(match(/^[^\s@]+@[^\s@]+$/, 'an e-mail address'), 'none').describe(
    'Address for alarms. It must confirm a message from AWS. The topic in the output `AlarmTopicArn` takes other subscriptions.',
  ),
  events: optional(z.enum(['off', 'on']), 'off').describe(
    'Whether EventBridge gets [an event](operations.md#events-for-operators) when an export is accepted, rejected or settled.',
  ),
  logRetentionDays: z
    .literal(logPeriods)
    .meta({ expected: 'a period that CloudWatch Logs knows, such as 90' })
    .describe('Days to keep the logs of functions and APIs.'),
  apiGatewayLogRole: z
    .enum(['create', 'present'])
    .describe(
      "The account's one role through which API Gateway writes logs: made, replacing an existing one, or left as it is.",
    ),
  logKeys: optional(z.enum(['aws', 'customer']), 'aws').describe(
    'Whose key encrypts new logs of the service stack. Keep your key for `logRetentionDays` after a change back to `aws`.',
  ),
  auditRetentionDays: optional(whole(30, 36_500), 'forever').describe(
    'Days to keep the audit trail and settled requests: [at least 30 more than `outboxExpiryDays`](operations.md#retention-and-erasure).',
  ),
  bucketLogRetentionDays: whole(1, 3_650).describe(
    'Days to keep the access logs of the buckets, which say who fetched what.',
  ),
  service: z
    .strictObject({
      id: match(/^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$/, 'a reverse domain name').describe(
        'Unique id, such as `org.example.data-out`. Receipts carry it.',
      ),
      organizationName: match(/./, 'a name'),
      organizationUrl: match(/^https:\/\/\S+$/, 'an https:// address'),
    })
    .describe('What `GET /service-info` says.'),
});

export type Settings = Readonly<z.infer<typeof settingsSchema>>;
export type Throttling = Settings['throttling']['export'];
export type Domain = Readonly<z.infer<typeof domain>>;
export type NewDatabase = Readonly<z.infer<typeof newDatabase>>;
export type ExistingDatabase = Readonly<z.infer<typeof existingDatabase>>;
export type ExistingBucket = Readonly<z.infer<typeof existingBucket>>;
export type ExistingSecret = Readonly<z.infer<typeof existingSecret>>;

/** Major version of Aurora PostgreSQL that a new cluster runs. AWS chooses the minor one, and upgrades it. */
export const databaseVersion = '18';

/** Invocations that the deployment reserves for the direct API; 0: none. */
export function reservedForDirectFiles({ concurrency, directAccess }: Settings): number {
  const { directFiles = 100 } = concurrency;
  return directFiles === 'off' || directAccess === 'off' ? 0 : directFiles;
}
