import { metrics } from '../../contract/metrics.ts';
import { hoursAMonth, type Inventory } from './inventory.ts';
import { stagingOf } from './staging.ts';

const gib = 2 ** 30;
const daysAMonth = hoursAMonth / 24;

/** What a deployment does in a month. */
export interface Workload {
  /** Exports a month, 0 or more. */
  readonly exports: number;
  /** Files of one export, at least 1. All have one size. */
  readonly files: number;
  /** GiB of one export. */
  readonly gib: number;
  /** How often each file is downloaded, 0 or more. */
  readonly downloads: number;
  /** Days that a container stays in the outbox. */
  readonly days: number;
}

/** Amounts of a month by the id of their price: what exists anyway, and what the workload adds. */
export type Amounts = Readonly<Record<string, { readonly idle: number; readonly use: number }>>;

/** What is neither in the templates nor measured. docs/cost.md has each with its reason. */
const assumed = {
  /** Lambda begins with five pollers, each of which waits 20 s for a message. */
  receivesAnHourAndQueue: 5 * 3 * 60,
  /** GiB of an empty catalogue. */
  catalogueGib: 10,
  /** Bytes of the rows that a file of an export leaves, with their indexes. */
  bytesOfRows: 1024,
  /** Bytes that one invocation or one request logs. */
  bytesOfLog: 2048,
  /** Seconds of a scheduled run, and its calls of the database. */
  scheduledRun: { seconds: 1, dataApi: 4 },
  /** Times that an administrator's client asks for the state of an export. */
  stateRequests: 10,
  /** Calls of the database for an export beside those for its files. */
  dataApiOfAnExport: 10,
  /** Seconds to fan out and to settle 1,000 files, each. */
  secondsOfAThousandFiles: 2,
  /** Seconds of a request to the API, and of its authorizer, which asks the database and checks a password. */
  seconds: { request: 0.1, authorizer: 0.2 },
  /** Share of requests that X-Ray records. */
  traced: 0.05,
  /** S3 calls for which a bucket key still asks KMS. */
  kms: 0.01,
} as const;

/** Containers' GiB that wait in the outbox, on average over the month. */
const storedGib = ({ exports, gib: each, days }: Workload): number => (exports * each * days) / daysAMonth;

/** GiB that leave AWS. */
const downloadedGib = ({ exports, gib: each, downloads }: Workload): number => exports * each * downloads;

/** GETs of one download: one, and one for each further GiB, because clients fetch large files in pieces. */
const readsOfADownload = (bytes: number): number => 1 + Math.floor(bytes / gib);

/** What this service uses: amounts that exist anyway from its templates, calls by its own plan. */
export function serviceAmounts(inventory: Inventory, workload: Workload): Amounts {
  const { exports, files, downloads } = workload;
  const { memoryGib } = inventory;
  const allFiles = exports * files;
  const fetched = allFiles * downloads;
  const size = (workload.gib * gib) / files;
  const staging = stagingOf(size);

  const runs = inventory.schedules.reduce((sum, { runsAMonth }) => sum + runsAMonth, 0);
  const runSeconds = inventory.schedules.reduce(
    (sum, { runsAMonth, memoryGib: memory }) => sum + runsAMonth * memory * assumed.scheduledRun.seconds,
    0,
  );
  // Each export is asked for, its state is looked up, its containers are listed; each download is asked for.
  const ofAnExport = 2 + assumed.stateRequests;
  const requests = exports * ofAnExport + fetched;
  const batches = exports * (files / 1000) * assumed.secondsOfAThousandFiles;
  // Each request has an authorizer. An export is fanned out and settled.
  const invocations = allFiles * staging.invocations + 2 * exports + 2 * requests;
  const seconds =
    allFiles * staging.seconds * memoryGib('StageFile') +
    batches * (memoryGib('ConsumeExport') + memoryGib('SettleDelivery')) +
    fetched * assumed.seconds.request * memoryGib('Stream') +
    exports * ofAnExport * assumed.seconds.request * memoryGib('Export') +
    requests * assumed.seconds.authorizer * memoryGib('AuthorizeOutbox');
  const writes = allFiles * staging.s3Writes + exports;
  const reads = allFiles * staging.s3Reads + fetched * readsOfADownload(size);

  return {
    egress: used(downloadedGib(workload)),
    's3.storage': used(storedGib(workload)),
    's3.writes': used(writes),
    's3.reads': used(reads),
    'lambda.seconds': { idle: runSeconds, use: seconds },
    'lambda.requests': { idle: runs, use: invocations },
    'apigateway.requests': used(requests),
    'sqs.requests': {
      idle: inventory.polledQueues * assumed.receivesAnHourAndQueue * hoursAMonth,
      use: allFiles * staging.sqs + exports * 6,
    },
    'aurora.capacity': there(inventory.leastCapacity * hoursAMonth),
    'aurora.storage': {
      idle: inventory.clusters * assumed.catalogueGib,
      use: inventory.clusters * ((allFiles * assumed.bytesOfRows) / gib),
    },
    'aurora.dataApi': {
      idle: runs * assumed.scheduledRun.dataApi,
      use: allFiles * staging.dataApi + exports * assumed.dataApiOfAnExport + requests,
    },
    'kms.keys': there(inventory.keys),
    'kms.requests': used((writes + reads) * assumed.kms),
    secrets: there(inventory.secrets),
    'cloudwatch.alarms': there(inventory.alarmMetrics),
    'cloudwatch.dashboards': there(inventory.dashboards),
    'cloudwatch.metrics': used(exports > 0 ? Object.keys(metrics).length : 0),
    'cloudwatch.logs': {
      idle: (runs * assumed.bytesOfLog) / gib,
      use: ((invocations + requests) * assumed.bytesOfLog) / gib,
    },
    'xray.traces': used(inventory.isTraced ? (requests + allFiles * staging.invocations) * assumed.traced : 0),
    'waf.acls': there(inventory.webAcls),
    'waf.rules': there(inventory.webAclRules),
    'waf.requests': used(inventory.webAcls > 0 ? requests : 0),
    'cloudtrail.dataEvents': used(inventory.recordsObjects ? writes + reads : 0),
    'events.schedules': there(runs),
  };
}

/** An amount that the workload decides. */
const used = (use: number) => ({ idle: 0, use });
/** An amount that exists anyway. */
const there = (idle: number) => ({ idle, use: 0 });
