/** Namespace, names and dimensions of the CloudWatch metrics (EMF). Alarms and functions share them. */
export const metricNamespace = 'DataOut';

/** Value of the dimension `service`, which every metric has. */
export const metricService = 'data-out';

/** Dimension that every metric has: name of the service stack, which tells the deployments of one account apart. */
export const deploymentDimension = 'deployment';

export const metrics = {
  /** Export requests the proxy published. */
  exportRequested: 'ExportRequested',
  /** Export requests the consumer refused; dimension `reason`. */
  exportRejected: 'ExportRejected',
  /** Export requests that were fanned out into files. */
  exportAccepted: 'ExportAccepted',
  /** Containers written to the outbox. */
  fileStaged: 'FileStaged',
  /** Bytes of the containers written to the outbox. */
  bytesStaged: 'BytesStaged',
  /** Messages put back for another try. */
  messageFailed: 'MessageFailed',
  /** Events for operators that EventBridge did not take. */
  eventLost: 'EventLost',
  /** Files whose header or body contradicts the catalogue. */
  archiveDamaged: 'ArchiveDamaged',
  /** Containers of deprecated datasets that a run found in the outbox and left there. */
  withdrawnInOutbox: 'WithdrawnInOutbox',
} as const;
