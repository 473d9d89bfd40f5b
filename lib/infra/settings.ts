import type { ArchiveCredentialsPolicy } from '../contract/archive-credentials.ts';
import type { WithdrawalPolicy } from '../contract/withdrawal.ts';

/**
 * Everything an operator decides about one deployment. `bin/settings.ts` has the defaults, and `private/settings.ts` what an
 * operator sets. {@link checkSettings} refuses impossible values at synth.
 */
export interface Settings {
  /**
   * Suffix of both stack names (`DataOutStorage-test`), to keep several deployments in one account and region.
   * Lower-case letters, digits and dashes, at most 20. @default - no suffix
   */
  readonly stage?: string;
  /**
   * What the deployment is for. A deployment for production trusts no issuer of smoke tests (docs/smoke-test.md).
   * @default 'production'
   */
  readonly purpose?: 'production' | 'test';
  /** Where to deploy. @default - the account and region of the credentials that run `cdk deploy` */
  readonly target?: { readonly account: string; readonly region: string };

  /** Last segment of `POST /export/{archive_kind}`: 1–64 of `a-z`, `0-9`, `-`, `_`. Usual: `fega`. */
  readonly archiveKind: string;
  /**
   * Whether list and stream insist on the central archive's Basic credentials beside the visa. `when-presented` serves
   * clients that omit them on the outbox; wrong credentials are refused in both modes. Usual: `required`.
   */
  readonly archiveCredentials: ArchiveCredentialsPolicy;
  /**
   * Whether the proxy serves a page for administrators at `GET /admin`, behind the same credentials as exports. A browser
   * then holds them until it is closed. @default false
   */
  readonly adminPage?: boolean;
  /** Days after which a staged container is deleted from the outbox, 1–365. Usual: 30. */
  readonly outboxExpiryDays: number;
  /**
   * Whether the outbox gets a signed receipt when a delivery is settled (docs/delivery.md). Without it the end of an export
   * is in the database alone. @default true
   */
  readonly deliveryReceipt?: boolean;
  /**
   * How many keys for delivery receipts were made so far, 1–20. To rotate, raise it by one: the newest key signs, and the
   * public parts of all are served. Never lower it. @default 1
   */
  readonly receiptKeys?: number;
  /**
   * What happens to staged containers of a dataset whose newest event is `deprecated`. Every 15 minutes a function looks for
   * them, every 12 hours with `database.minCapacity: 0`. `report` counts them, and an alarm fires. `purge` deletes them, and
   * recipients can no longer download them. `off` looks for none: they stay until they expire. @default 'report'
   */
  readonly withdrawal?: WithdrawalPolicy;
  /**
   * Most bytes in the outbox of one recipient, in GiB: 1–10,000,000. A request that would go beyond is rejected.
   * @default - no limit
   */
  readonly outboxQuotaGib?: number;
  /** Whether the direct API is there. With `off` its routes, functions and rights on keys are gone. @default 'on' */
  readonly directAccess?: 'on' | 'off';
  /** Life of a presigned URL in seconds, 60–3,600. Usual: 900 (15 minutes). */
  readonly urlLifetimeSeconds: number;
  /** Seconds before the 2nd, 3rd, … attempt of a message that failed, each 1–3,600; the last one repeats. */
  readonly retryDelaysSeconds: readonly number[];
  /** How many requests are taken from all callers together, for each method of the two APIs by itself. */
  readonly throttling: Throttling & {
    /** The same for each route below `/export`, where each attempt costs a password hash. Usual: 5 with 10. */
    readonly export: Throttling;
  };
  /** Limits for each caller's address, kept by AWS WAF. @default - no firewall */
  readonly firewall?: Firewall;
  /** Host names of your own for the two APIs. @default - the names that API Gateway gives */
  readonly domains?: { readonly proxy?: Domain; readonly dataOut?: Domain };
  /**
   * How many invocations work on each queue at once, 2–1,000. Leave room below the account's limit of concurrent
   * functions (as low as 10 in new accounts) for the functions that answer requests.
   */
  readonly concurrency: {
    readonly exportRequests: number;
    /** Files over 8 MiB, one an invocation. */
    readonly fileExports: number;
    /** Files of at most 8 MiB, up to ten an invocation. @default - as `fileExports` */
    readonly smallFileExports?: number;
    /**
     * How many direct files are streamed at once, 1–1,000. A stream holds its function for up to five minutes, so
     * without a limit one caller can use up the concurrency of the whole account. The number is reserved from the
     * account's limit, of which 100 must stay unreserved: a smaller account, such as a new one, needs `off`, which reserves
     * nothing. @default 100
     */
    readonly directFiles?: number | 'off';
  };

  /** The catalogue's Aurora Serverless v2 cluster, or an existing one. */
  readonly database: NewDatabase | ExistingDatabase;
  /**
   * Bucket with the archived bodies, in the region of the deployment. `data-out-ops archive add` writes there. Bodies whose
   * catalogue row has no `sda.files.archive_location` are read from there. @default - a new bucket under a new key
   */
  readonly archiveBucket?: ExistingBucket;
  /**
   * Whether a new archive bucket keeps older versions of its objects. Without them, an overwritten or deleted body is lost. Not
   * for a bucket that is there already.
   * @default 'on'
   */
  readonly archiveVersioning?: 'on' | 'off';
  /**
   * More buckets with archived bodies. A row of the catalogue names one in `archive_location`, as `<endpoint>/<bucket>`,
   * `s3://<bucket>` or `<bucket>`; only the bucket counts. A file whose row names a bucket outside these settings
   * cannot be exported or fetched. @default - none
   */
  readonly otherArchiveBuckets?: readonly ExistingBucket[];
  /**
   * Regular expressions that stable ids of this archive match as a whole, from `^` to `$`. `data-out-ops archive add` refuses
   * others, so that a typing error makes no dataset. The functions do not look at them.
   */
  readonly identifiers?: {
    /** @default '^EGAD\\d{1,11}$' */
    readonly dataset?: string;
    /** A file that is added without an id gets `EGAF9` and ten digits. @default '^EGAF\\d{1,11}$' */
    readonly file?: string;
  };
  /** Secret with the archive's Crypt4GH key pairs. @default - a new, empty secret under a new key */
  readonly archiveKeysSecret?: ExistingSecret;

  /**
   * Days after which Secrets Manager rotates the secrets of the database roles, 1–1,000. For a cluster that the storage stack
   * makes; the secrets of an existing one are rotated by their owner. @default - they are changed by hand
   */
  readonly databaseRotationDays?: number;

  /**
   * Address that receives the alarms by e-mail, once it has confirmed the message that AWS sends it. @default - none; the
   * topic in the output `AlarmTopicArn` takes subscriptions all the same
   */
  readonly alarmEmail?: string;
  /**
   * Whether EventBridge gets an event for operators when an export request is accepted, rejected or settled. Events go to the
   * default bus of the account and region. Each names the request, its state and the deployment, and nothing else. An
   * event may be lost: `docs/runbook.md#events-for-operators`. @default 'off'
   */
  readonly events?: 'off' | 'on';
  /** Days to keep the functions' and the APIs' logs: one of the periods CloudWatch Logs knows. Usual: 90. */
  readonly logRetentionDays: number;
  /**
   * Whether these logs outlive the service stack, until their days are over: they say who was given what, and why a
   * deployment was rolled back. The logs of functions that run inside a deployment are always kept. @default 'keep'
   */
  readonly logsOnDestroy?: 'keep' | 'delete';
  /**
   * The role through which API Gateway writes logs, one for the account and region. `create` makes it and names it to
   * API Gateway, in place of one that may be there; `present` leaves alone what the account has.
   */
  readonly apiGatewayLogRole: 'create' | 'present';
  /**
   * Whose key encrypts the logs of the service stack: `customer` makes a KMS key of your own for them. While it is disabled,
   * nothing can be read or written there.
   * @default 'aws'
   */
  readonly logKeys?: 'aws' | 'customer';
  /**
   * Whether CloudTrail records each read and write of an object in the archive and the outbox, for `bucketLogRetentionDays`.
   * @default 'off'
   */
  readonly dataEvents?: 'off' | 'on';
  /**
   * Days to keep the rows of the audit trail, and of requests that are settled: 30–36,500. @default - they are kept
   */
  readonly auditRetentionDays?: number;
  /** Days to keep the buckets' access logs, which say who fetched what from the outbox, 1–3,650. Usual: 365. */
  readonly bucketLogRetentionDays: number;

  /** What `GET /service-info` says about this deployment (GA4GH service-info 1.0). */
  readonly service: {
    /** Unique id in reverse domain name form, such as `org.example.data-out`. */
    readonly id: string;
    readonly organizationName: string;
    /** Web page of the organisation, `https://…`. */
    readonly organizationUrl: string;
  };
}

/** A limit that API Gateway keeps approximately: past it, requests are answered with 429. */
export interface Throttling {
  /** Requests a second, 1–10,000. */
  readonly requestsPerSecond: number;
  /** Requests at once, 1–5,000. */
  readonly burst: number;
}

/**
 * Requests from one address within five minutes, each 10–2,000,000. Past it, requests are answered with 429 until they are fewer
 * (`docs/operations.md#a-firewall`).
 */
export interface Firewall {
  /** To both APIs together. Usual: 20,000. */
  readonly requestsPerFiveMinutes: number;
  /** To `/export` and below and to `/admin`, where each attempt costs a password hash. Usual: 600. */
  readonly exportRequestsPerFiveMinutes: number;
}

/** A host name of an API, with TLS 1.2 or newer. The API begins at its root, without `/v1`. */
export interface Domain {
  /** Such as `data.example.org`. */
  readonly name: string;
  /** Certificate in AWS Certificate Manager, in the region of the deployment. */
  readonly certificateArn: string;
  /**
   * Public zone of Route 53 that gets the record. @default - you make the record, to the name in the output
   * `ProxyDomainTarget` or `DataOutDomainTarget`
   */
  readonly hostedZone?: { readonly id: string; readonly name: string };
  /**
   * Whether the name that API Gateway gave still answers, beside this one: `on` while users move. With `off` it answers 403.
   * @default 'off'
   */
  readonly defaultEndpoint?: 'off' | 'on';
}

/** A cluster made by the storage stack. Capacities are Aurora capacity units (ACU) in steps of 0.5. */
export interface NewDatabase {
  /**
   * Least capacity, 0–256. 0 lets the cluster sleep: cheaper, but the first request after a pause takes 15 seconds or
   * more and is answered with 503 meanwhile, and deprecated datasets are looked for twice a day only. Usual: 0.5.
   */
  readonly minCapacity: number;
  /** Most capacity, 1–256. */
  readonly maxCapacity: number;
  /** Days of backups, 1–35. */
  readonly backupDays: number;
}

/** A cluster that is there already: Aurora PostgreSQL with the RDS Data API switched on. */
export interface ExistingDatabase {
  readonly clusterArn: string;
  /** Secret with `username` and `password` of a role that may create the schemas. For the migration. */
  readonly secretArn: string;
  /** Customer key of the secret. @default - the secret is under the AWS managed key */
  readonly secretKeyArn?: string;
  /**
   * Secret with `username` `data_out_proxy` and a `password` of at least 16 printable ASCII characters, for the
   * authorizer of list and stream. The migration makes that role, which reads the archive users and nothing else. To make it,
   * the role in `secretArn` needs CREATEROLE. After a change of the password, invoke the function `Migrate`.
   * @default - the authorizer uses `secretArn`, with all rights of that role
   */
  readonly proxySecretArn?: string;
  /** Customer key of `proxySecretArn`. @default - that secret is under the AWS managed key */
  readonly proxySecretKeyArn?: string;
  /**
   * The same with `username` `data_out_reader`, for direct access. The migration makes that role, which reads datasets and
   * files and nothing else. To make it, the role in `secretArn` needs CREATEROLE. It must also own the tables of the schema
   * `sda`, or have SELECT on them with the right to grant it.
   * @default - direct access uses `secretArn`, with all rights of that role
   */
  readonly readerSecretArn?: string;
  /** Customer key of `readerSecretArn`. @default - that secret is under the AWS managed key */
  readonly readerSecretKeyArn?: string;
  /**
   * The same with `username` `data_out_worker`, for the functions that work on queues or on a schedule. The migration makes
   * that role, which reads datasets and files, appends to the audit trail, records what becomes of requests, their files and
   * copies, and does nothing else. The role in `secretArn` needs the same rights as for `readerSecretArn`.
   * @default - these functions use `secretArn`, with all rights of that role
   */
  readonly workerSecretArn?: string;
  /** Customer key of `workerSecretArn`. @default - that secret is under the AWS managed key */
  readonly workerSecretKeyArn?: string;
  /**
   * The same with `username` `data_out_auditor`, for the state of exports. The migration makes that role, which reads export
   * requests, their files and the audit trail, and does nothing else. To make it, the role in `secretArn` needs CREATEROLE.
   * @default - the function `ExportStatus` uses `secretArn`, with all rights of that role
   */
  readonly auditorSecretArn?: string;
  /** Customer key of `auditorSecretArn`. @default - that secret is under the AWS managed key */
  readonly auditorSecretKeyArn?: string;
  readonly databaseName: string;
  /** What `show max_connections` says, 20–262,143. An alarm goes off at two thirds of it. @default 1800 */
  readonly maxConnections?: number;
}

/** A bucket that is there already. */
export interface ExistingBucket {
  readonly bucketName: string;
  /** Customer key of its objects. @default - SSE-S3, no key is needed */
  readonly keyArn?: string;
}

/** A secret that is there already. */
export interface ExistingSecret {
  /** Complete ARN, with the six characters at its end. */
  readonly secretArn: string;
  /** Customer key of the secret. @default - the secret is under the AWS managed key */
  readonly keyArn?: string;
}

/** Invocations that the deployment reserves for direct access; 0: none. */
export function reservedForDirectFiles({ concurrency, directAccess }: Settings): number {
  const { directFiles = 100 } = concurrency;
  return directFiles === 'off' || directAccess === 'off' ? 0 : directFiles;
}
