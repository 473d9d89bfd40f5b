import { isError, unavailable } from '../../errors.ts';

/** Names of errors that pass, whatever the HTTP status: throttling, a service that is not ready, the SDK's own time-outs. */
const transientNames = new Set([
  'AbortError',
  'BandwidthLimitExceeded',
  'DatabaseResumingException',
  'DatabaseUnavailableException',
  'InternalServiceError',
  'LimitExceededException',
  'OperationAborted',
  'PriorRequestNotComplete',
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'RequestTimeout',
  'RequestTimeoutException',
  'ServiceUnavailableError',
  'SlowDown',
  'StatementTimeoutException',
  'TimeoutError',
  'TooManyRequestsException',
  'TransactionNotFoundException',
]);

/** Codes of sockets and name resolution: the request may or may not have been served. */
const networkCodes = new Set([
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ETIMEDOUT',
]);

function field(error: unknown, name: 'name' | 'code' | 'message'): string {
  const value: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined;
  return typeof value === 'string' ? value : '';
}

/** Name of an AWS error (`NoSuchKey`, `SlowDown`, …); empty for anything else. */
export function errorName(error: unknown): string {
  return field(error, 'name');
}

/** HTTP status of an AWS error; `undefined` when there was no answer. */
export function errorStatus(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('$metadata' in error)) return undefined;
  const { $metadata: metadata } = error;
  if (typeof metadata !== 'object' || metadata === null || !('httpStatusCode' in metadata)) return undefined;
  return typeof metadata.httpStatusCode === 'number' ? metadata.httpStatusCode : undefined;
}

/** Whether the same call may succeed later: throttling, a 5xx, a paused database, a broken or silent connection. */
export function isTransient(error: unknown): boolean {
  const name = errorName(error);
  const status = errorStatus(error);
  return (
    isError(error, 'temporarily_unavailable') ||
    transientNames.has(name) ||
    /throttl/i.test(name) ||
    networkCodes.has(field(error, 'code')) ||
    status === 429 ||
    (status !== undefined && status >= 500)
  );
}

/**
 * Whether PostgreSQL itself gave up for a reason that passes: deadlock, serialization failure, too many connections, a
 * writer that shuts down or fails over, or a password (28P01) that is being changed, in secret and database one
 * after the other. The Data API reports them as `DatabaseErrorException` with the SQLSTATE in the text.
 */
export function isTransientSqlState(error: unknown): boolean {
  return /SQLState: (?:08|28P01|40001|40P01|53|57P0)/.test(field(error, 'message'));
}

const sqlStates = {
  /** Other tables refer to a row that was to be deleted. */
  foreignKeyViolation: '23503',
  /** A row with the same key exists, or two statements create the same index. */
  uniqueViolation: '23505',
  /** A statement names a column that its table does not have. */
  undefinedColumn: '42703',
} as const;

/** Whether PostgreSQL refused a statement for this reason. */
export function isSqlError(error: unknown, reason: keyof typeof sqlStates): boolean {
  return field(error, 'message').includes(`SQLState: ${sqlStates[reason]}`);
}

/**
 * What a store throws for a failed call: `temporarily_unavailable` when a retry makes sense, otherwise the
 * error itself (a missing grant or a wrong name: the message fails, and ends in the dead-letter queue with an alarm).
 */
export function storeFailure(error: unknown, what: string): unknown {
  if (isError(error, 'temporarily_unavailable') || !isTransient(error)) return error;
  const wantsFewerCalls = errorName(error) === 'SlowDown';
  return unavailable(`${what} is temporarily unavailable`, { cause: error, wantsFewerCalls });
}
