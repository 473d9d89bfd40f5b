/** Namespace, names and dimension values of the CloudWatch metrics (EMF). Alarms and functions share them. */
export const metricNamespace = 'DataOut';

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
  /** Files whose header or body contradicts the catalogue. */
  archiveDamaged: 'ArchiveDamaged',
} as const;
