/**
 * Names of the environment variables that the stacks set and the functions read. One place, so that a misspelt name is
 * a type error on both sides.
 */
export const environment = {
  /** Name of the service stack: the `deployment` of its metrics. */
  stackName: 'STACK_NAME',
  /** Literal last segment of `POST /export/{archive_kind}`; also the `archiveKind` attribute of the message. */
  archiveKind: 'ARCHIVE_KIND',
  /** `required` or `when-presented`: whether list and stream insist on the central archive's Basic credentials. */
  archiveCredentials: 'ARCHIVE_CREDENTIALS',
  /** JSON of where researchers sign in: issuer, clientId, scopes. Absent: nowhere. */
  login: 'LOGIN',
  /** Names of the buckets that hold the archived bodies, separated by commas; the first is the default. */
  archiveBuckets: 'ARCHIVE_BUCKETS',
  /** Name of the bucket that holds staged containers. */
  outboxBucket: 'OUTBOX_BUCKET',
  /** `report` or `purge`: what the function that looks for withdrawn containers does with them. */
  withdrawal: 'WITHDRAWAL',
  /** Days after which a staged container expires (the bucket's lifecycle rule). */
  outboxExpiryDays: 'OUTBOX_EXPIRY_DAYS',
  /** Days to keep rows about requests; not set: for good. Where it is set, the sweep deletes older ones. */
  auditRetentionDays: 'AUDIT_RETENTION_DAYS',
  /** Most GiB of containers in the outbox of one recipient. Absent: no limit. */
  outboxQuotaGib: 'OUTBOX_QUOTA_GIB',
  /** Life of a presigned URL, in seconds. */
  urlLifetimeSeconds: 'URL_LIFETIME_SECONDS',
  /** URL of the queue `ExportRequests`. */
  exportRequestsQueueUrl: 'EXPORT_REQUESTS_QUEUE_URL',
  /** URL of the queue `FileExports`. */
  fileExportsQueueUrl: 'FILE_EXPORTS_QUEUE_URL',
  /** URL of the queue with one message for each file of at most 8 MiB. */
  smallFileExportsQueueUrl: 'SMALL_FILE_EXPORTS_QUEUE_URL',
  /** ARN of the EventBridge bus that takes the events for operators. Absent: none are sent. */
  eventBusArn: 'EVENT_BUS_ARN',
  /** URL of the queue with one message for each request to settle. */
  deliveriesQueueUrl: 'DELIVERIES_QUEUE_URL',
  /** Most files that all invocations together stage at once. */
  filesInFlight: 'FILES_IN_FLIGHT',
  /** ARN of the secret with the administrators' names, password hashes and roles. */
  adminSecretArn: 'ADMIN_SECRET_ARN',
  /** ARN of the secret with the archive's Crypt4GH key pairs. */
  archiveKeysSecretArn: 'ARCHIVE_KEYS_SECRET_ARN',
  /** ARN of the storage stack. */
  storageStackId: 'STORAGE_STACK_ID',
  /** ARN of the secret with the tokens and subjects that are denied. */
  visaDenyListSecretArn: 'VISA_DENY_LIST_SECRET_ARN',
  /** ARN of the secret with the key of the tokens in htsget tickets. */
  ticketKeySecretArn: 'TICKET_KEY_SECRET_ARN',
  /** Origins of the web pages that may use htsget, separated by commas. Absent: none. */
  htsgetOrigins: 'HTSGET_ORIGINS',
  /** ARN of the Aurora cluster (RDS Data API). */
  databaseClusterArn: 'DATABASE_CLUSTER_ARN',
  /** ARN of the secret with the credentials that the function uses in the database (RDS Data API). */
  databaseSecretArn: 'DATABASE_SECRET_ARN',
  /** ARN of the secret of list and stream's authorizer, for the migration, which makes its role. Absent: no such role. */
  databaseProxySecretArn: 'DATABASE_PROXY_SECRET_ARN',
  /** As `databaseProxySecretArn`, of the state of exports. */
  databaseAuditorSecretArn: 'DATABASE_AUDITOR_SECRET_ARN',
  /** As `databaseProxySecretArn`, of the direct API. */
  databaseReaderSecretArn: 'DATABASE_READER_SECRET_ARN',
  /** Name of a database role whose functions are gone: the migration takes its password away. Absent: there is none. */
  databaseClosedRole: 'DATABASE_CLOSED_ROLE',
  /** As `databaseProxySecretArn`, of the consumers of the queues. */
  databaseWorkerSecretArn: 'DATABASE_WORKER_SECRET_ARN',
  /** ARNs of the KMS keys of delivery receipts, the newest last, separated by commas. Absent: no receipts are written. */
  receiptKeyArns: 'RECEIPT_KEY_ARNS',
  /** Name of the database in the cluster. */
  databaseName: 'DATABASE_NAME',
  /** GA4GH service-info `id` in reverse-domain form, such as `org.example.data-out`; its namespace is the `type.group`. */
  serviceId: 'SERVICE_ID',
  /** GA4GH service-info `organization.name`: who runs this deployment. */
  organizationName: 'ORGANIZATION_NAME',
  /** GA4GH service-info `organization.url`. */
  organizationUrl: 'ORGANIZATION_URL',
} as const;

export type EnvironmentVariable = (typeof environment)[keyof typeof environment];

/** File beside each bundle that verifies visas: the issuers the operator trusts (copied from `config/`). */
export const trustedIssuersFile = 'config/trusted-issuers.json';

/** File beside the bundles that serve `/openapi.json`: the document, made from `docs/openapi/` when they are bundled. */
export const openApiFile = 'openapi.json';

/** Whether list and stream insist on the central archive's credentials, or only check those that are sent. */
export const archiveCredentialsPolicies = ['required', 'when-presented'] as const;
export type ArchiveCredentialsPolicy = (typeof archiveCredentialsPolicies)[number];

/** What happens to staged containers of a deprecated dataset. `report` counts them, `purge` deletes them. */
export const withdrawalPolicies = ['off', 'report', 'purge'] as const;
export type WithdrawalPolicy = (typeof withdrawalPolicies)[number];
