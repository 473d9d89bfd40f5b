import { reasonCodes } from './reasons.ts';

/** Namespace, names and dimensions of the CloudWatch metrics (EMF). Alarms, the dashboard and the functions share them. */
export const metricNamespace = 'DataOut';

/** Value of the dimension `service`, which every metric has. */
export const metricService = 'data-out';

/** Dimension that every metric has: name of the service stack, which tells the deployments of one account apart. */
export const deploymentDimension = 'deployment';

export const metrics = {
  /** Export requests that the delivery API published. */
  exportRequested: 'ExportRequested',
  /** Export requests the consumer refused, also by reason. */
  exportRejected: 'ExportRejected',
  /** Export requests that were accepted and whose files were sent to be staged. */
  exportAccepted: 'ExportAccepted',
  /** Requests that were settled, also by state. One that is settled again counts again. */
  deliverySettled: 'DeliverySettled',
  /** Containers written to the outbox. */
  fileStaged: 'FileStaged',
  /** Bytes of the containers written to the outbox. */
  bytesStaged: 'BytesStaged',
  /** Files of accepted requests that were refused when their turn came, also by reason. */
  fileRejected: 'FileRejected',
  /** Files that were given up, also by reason. */
  fileGivenUp: 'FileGivenUp',
  /** Requests that the daily sweep found not settled although no file was open. */
  deliveryOverdue: 'DeliveryOverdue',
  /** Containers of deprecated datasets that a run deleted from the outbox. */
  fileWithdrawn: 'FileWithdrawn',
  /** Seconds from the request to each of its containers in the outbox. */
  secondsToStaged: 'SecondsToStaged',
  /** Seconds from the request to when it is first settled. */
  secondsToSettled: 'SecondsToSettled',
  /** Messages put back for another try, also by stage. */
  messageFailed: 'MessageFailed',
  /** Events for operators that EventBridge did not take. */
  eventLost: 'EventLost',
  /** Files whose header or body contradicts the catalogue. */
  archiveDamaged: 'ArchiveDamaged',
  /** Containers of deprecated datasets that a run found in the outbox and left there. */
  withdrawnInOutbox: 'WithdrawnInOutbox',
} as const;

/**
 * Where an export can fail: when it is decided on and its files are sent, when a file is staged, when a request is settled, and when
 * a dead letter is recorded.
 */
export const failureStages = ['consume', 'stage', 'settle', 'record'] as const;
export type FailureStage = (typeof failureStages)[number];

/** Stands for a value outside its list, so that no value of a message can make its own time series. */
export const otherValue = 'other';

/**
 * The metrics that have one more dimension, with all its values. They are also counted without it: an alarm takes no
 * search over dimensions. Each value is a time series that CloudWatch charges for.
 */
export const breakdowns = {
  [metrics.exportRejected]: { dimension: 'reason', values: reasonCodes },
  [metrics.fileRejected]: { dimension: 'reason', values: reasonCodes },
  [metrics.fileGivenUp]: { dimension: 'reason', values: reasonCodes },
  [metrics.deliverySettled]: { dimension: 'state', values: ['complete', 'incomplete', 'withdrawn'] },
  [metrics.messageFailed]: { dimension: 'stage', values: failureStages },
} as const satisfies Readonly<Record<string, { readonly dimension: string; readonly values: readonly string[] }>>;
export type BrokenDownMetric = keyof typeof breakdowns;
