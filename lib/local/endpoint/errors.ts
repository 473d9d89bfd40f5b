import { randomUUID } from 'node:crypto';
import type { Permission } from '../iam/policy.ts';

/** Services behind the endpoint, by the name in a signature's scope. */
export type AwsService =
  | 's3'
  | 'sqs'
  | 'rds-data'
  | 'secretsmanager'
  | 'cloudformation'
  | 'rds'
  | 'lambda'
  | 'kms'
  | 'sts'
  | 'events'
  | 'sns'
  | 'apigateway'
  | 'servicequotas'
  | 'cloudcontrolapi'
  | 'acm'
  | 'cloudtrail';

/** The services that answer in XML. They call a missing permission `AccessDenied` (403). */
const xmlServices: ReadonlySet<AwsService> = new Set(['s3', 'cloudformation', 'rds', 'sns', 'sts']);
/** The services with an error of its own for a caller who may not use the key of a resource. */
const keyRefusals: Partial<Readonly<Record<AwsService, readonly [code: string, message: string]>>> = {
  sqs: ['KmsAccessDenied', "The caller doesn't have the required KMS access."],
  secretsmanager: ['AccessDeniedException', 'Access to KMS is not allowed'],
  'rds-data': ['SecretsErrorException', "Secrets Manager can't decrypt the protected secret text"],
};

/** A refusal. {@link errorReply} gives it the form of its service. */
export class AwsError extends Error {
  readonly status: number;
  readonly code: string;
  /** More elements of an error document of S3, such as `Key`. */
  readonly details: Readonly<Record<string, string>>;
  /** Headers beside those that every error of the service has. */
  readonly headers: Readonly<Record<string, string>>;
  constructor(
    status: number,
    code: string,
    message: string,
    details: Readonly<Record<string, string>> = {},
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
    this.headers = headers;
  }
}

/**
 * The refusal of a call that lacks a permission, in the form in which the service puts it.
 *
 * @param reason why, in the words of AWS
 */
export function accessDenied(
  service: AwsService,
  callerArn: string,
  { action, resource }: Permission,
  reason: string,
): AwsError {
  const ofKey = service !== 'kms' && action.startsWith('kms:') ? keyRefusals[service] : undefined;
  if (ofKey) return new AwsError(400, ...ofKey);
  const message = `User: ${callerArn} is not authorized to perform: ${action} on resource: ${resource} ${reason}`;
  if (xmlServices.has(service)) return new AwsError(403, 'AccessDenied', message);
  return new AwsError(
    ['lambda', 'rds-data', 'apigateway'].includes(service) ? 403 : 400,
    'AccessDeniedException',
    message,
  );
}

export interface AwsReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** An error in the form in which the service sends errors. */
export function errorReply(service: AwsService, { status, code, message, details, headers }: AwsError): AwsReply {
  const requestId = randomUUID();
  switch (service) {
    case 's3':
      return {
        status,
        headers: { 'content-type': 'application/xml', 'x-amz-request-id': requestId, ...headers },
        body:
          `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${escapeXml(code)}</Code>` +
          `<Message>${escapeXml(message)}</Message>` +
          Object.entries(details)
            .map(([name, value]) => `<${name}>${escapeXml(value)}</${name}>`)
            .join('') +
          `<RequestId>${requestId}</RequestId></Error>`,
      };
    case 'sqs':
      return {
        status,
        headers: {
          'content-type': 'application/x-amz-json-1.0',
          'x-amzn-requestid': requestId,
          'x-amzn-query-error': `${code};${status < 500 ? 'Sender' : 'Receiver'}`,
        },
        body: JSON.stringify({ __type: `com.amazonaws.sqs#${code}`, message }),
      };
    case 'rds-data':
    case 'lambda':
    case 'apigateway':
      return {
        status,
        headers: {
          'content-type': 'application/json',
          'x-amzn-requestid': requestId,
          'x-amzn-errortype': code,
        },
        body: JSON.stringify({ message }),
      };
    case 'cloudformation':
    case 'rds':
    case 'sts':
    case 'sns':
      return {
        status,
        headers: { 'content-type': 'text/xml', 'x-amzn-requestid': requestId },
        body:
          `<ErrorResponse><Error><Type>${status < 500 ? 'Sender' : 'Receiver'}</Type><Code>${escapeXml(code)}</Code>` +
          `<Message>${escapeXml(message)}</Message></Error><RequestId>${requestId}</RequestId></ErrorResponse>`,
      };
    case 'secretsmanager':
    case 'events':
    case 'kms':
    case 'servicequotas':
    case 'cloudcontrolapi':
    case 'acm':
    case 'cloudtrail':
      return {
        status,
        headers: { 'content-type': 'application/x-amz-json-1.1', 'x-amzn-requestid': requestId },
        body: JSON.stringify({ __type: code, message }),
      };
  }
}

export function escapeXml(value: string): string {
  return value.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
