import { InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import { type DescribeFileError, type DescribeFileRequest, describeFileReply } from '../../contract/messages.ts';
import { damaged, unavailable } from '../../errors.ts';
import { accessRefused } from '../direct/access.ts';
import type { DescribeFile } from '../direct/ports.ts';
import { storeFailure } from './aws-failure.ts';

/** Longest wait for a description, in milliseconds: API Gateway, which waits for the caller, gives up after 29 s. */
const patienceMs = 22_000;

/** Descriptions by the function that has the archive's keys. */
export function fileDescriptions(client: Pick<LambdaClient, 'send'>, functionArn: string): DescribeFile {
  return async ({ fileId, datasetId }) => {
    const request: DescribeFileRequest = { fileId, datasetId };
    const command = new InvokeCommand({ FunctionName: functionArn, Payload: JSON.stringify(request) });
    const answer = await client
      .send(command, { abortSignal: AbortSignal.timeout(patienceMs) })
      .catch((error: unknown) => {
        throw storeFailure(error, 'the description of files');
      });
    // Without the payload: it holds the text of an unforeseen error.
    if (answer.FunctionError) throw new Error(`the function that describes files failed: ${answer.FunctionError}`);
    const reply = describeFileReply.parse(JSON.parse(answer.Payload?.transformToString() ?? ''));
    if ('description' in reply) return reply.description;
    throw errorOf(reply.error, fileId);
  };
}

function errorOf(error: DescribeFileError, fileId: string): Error {
  switch (error.code) {
    case 'forbidden':
      return accessRefused();
    case 'archive_damaged':
      return damaged(`file ${fileId} cannot be described: see the log of DescribeFile`);
    case 'temporarily_unavailable':
      return unavailable('the file cannot be described now', error);
  }
}
