import { randomUUID } from 'node:crypto';
import type { Permission } from '../iam/policy.ts';
import { xml } from './xml.ts';

/** How each service behind the endpoint speaks, by its name in a signature's scope. */
const protocols = {
  s3: 'rest-xml',
  sqs: 'json-1.0',
  'rds-data': 'rest-json',
  secretsmanager: 'json-1.1',
  cloudformation: 'query',
  rds: 'query',
  kms: 'json-1.1',
  sts: 'query',
  events: 'json-1.1',
} as const;

export type AwsService = keyof typeof protocols;

export function isAwsService(name: string): name is AwsService {
  return Object.hasOwn(protocols, name);
}

/** The services with its own error for a caller who may not use the key of a resource. */
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
  const protocol = protocols[service];
  if (protocol === 'rest-xml' || protocol === 'query') return new AwsError(403, 'AccessDenied', message);
  return new AwsError(protocol === 'rest-json' ? 403 : 400, 'AccessDeniedException', message);
}

export interface AwsReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** An error in the form in which the service sends errors. */
export function errorReply(service: AwsService, { status, code, message, details, headers }: AwsError): AwsReply {
  const requestId = randomUUID();
  const fault = status < 500 ? 'Sender' : 'Receiver';
  const reply = (type: string, body: string, others: Readonly<Record<string, string>> = {}): AwsReply => ({
    status,
    headers: { 'content-type': type, 'x-amzn-requestid': requestId, ...others },
    body,
  });
  const protocol = protocols[service];
  switch (protocol) {
    case 'rest-xml': {
      const document = xml({ Error: { Code: code, Message: message, ...details, RequestId: requestId } });
      return {
        status,
        headers: { 'content-type': 'application/xml', 'x-amz-request-id': requestId, ...headers },
        body: `<?xml version="1.0" encoding="UTF-8"?>\n${document}`,
      };
    }
    case 'query': {
      const error = { Type: fault, Code: code, Message: message };
      return reply('text/xml', xml({ ErrorResponse: { Error: error, RequestId: requestId } }));
    }
    case 'rest-json':
      return reply('application/json', JSON.stringify({ message }), { 'x-amzn-errortype': code });
    default: {
      const ofQueues = service === 'sqs';
      const body = JSON.stringify({ __type: ofQueues ? `com.amazonaws.sqs#${code}` : code, message });
      const others = ofQueues ? { 'x-amzn-query-error': `${code};${fault}` } : {};
      return reply(`application/x-amz-${protocol}`, body, others);
    }
  }
}
