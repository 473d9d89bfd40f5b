import { AwsError } from '../endpoint/errors.ts';

/** Refusals that several operations share, in the words of S3. */

export function noSuchKey(key: string): AwsError {
  return new AwsError(404, 'NoSuchKey', 'The specified key does not exist.', { Key: key });
}

export function noSuchBucket(bucket: string): AwsError {
  return new AwsError(404, 'NoSuchBucket', 'The specified bucket does not exist', { BucketName: bucket });
}

export function preconditionFailed(condition: string): AwsError {
  return new AwsError(412, 'PreconditionFailed', 'At least one of the pre-conditions you specified did not hold', {
    Condition: condition,
  });
}

export function invalidArgument(message: string, name?: string, value?: string): AwsError {
  return new AwsError(400, 'InvalidArgument', message, {
    ...(name !== undefined && { ArgumentName: name }),
    ...(value !== undefined && { ArgumentValue: value }),
  });
}

/** For what S3 has and this engine lacks. */
export function notImplemented(what: string): AwsError {
  return new AwsError(501, 'NotImplemented', `the local S3 does not know ${what}`);
}
