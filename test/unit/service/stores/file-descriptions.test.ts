import { LambdaClient } from '@aws-sdk/client-lambda';
import { describe, expect, test } from 'vitest';
import { fileDescriptions } from '../../../../lib/service/stores/file-descriptions.ts';
import { brokenConnection, type SdkReply, scripted, testClient, textOf } from '../../../helpers/http-handler.ts';

const functionArn = 'arn:aws:lambda:eu-north-1:111122223333:function:describe';
const reference = { fileId: 'EGAF1', datasetId: 'EGAD1' };
const description = {
  fileName: 'a.vcf',
  mediaType: 'application/octet-stream',
  size: 7,
  etag: '"abc"',
  createdAt: '2026-01-02T03:04:05.000Z',
  checksums: [{ type: 'SHA256', value: 'ab' }],
};

function over(replies: readonly (SdkReply | Error)[]) {
  const { handler, requests, left } = scripted(replies);
  const client = new LambdaClient({ ...testClient, maxAttempts: 1, requestHandler: handler });
  return { describeFile: fileDescriptions(client, functionArn), requests, left };
}
const reply = (body: unknown, headers = {}) => ({ status: 200, headers, body: JSON.stringify(body) });
const failure = (answer: SdkReply | Error) =>
  over([answer])
    .describeFile(reference)
    .catch((error: unknown) => error);

test('a description is asked for by the two ids and nothing else', async () => {
  const { describeFile, requests } = over([reply({ description })]);
  const wanted = { ...reference, token: 'not to be sent' };
  expect(await describeFile(wanted)).toEqual(description);
  expect(requests).toHaveLength(1);
  expect(requests[0]).toMatchObject({
    method: 'POST',
    path: `/2015-03-31/functions/${encodeURIComponent(functionArn)}/invocations`,
  });
  expect(requests.map((request) => JSON.parse(textOf(request)))).toEqual([reference]);
});

describe('errors of the function pass by their code', () => {
  test('forbidden', async () => {
    expect(await failure(reply({ error: { code: 'forbidden' } }))).toMatchObject({ code: 'forbidden' });
  });

  test('archive_damaged, which names the file and where to look', async () => {
    const error = await failure(reply({ error: { code: 'archive_damaged' } }));
    expect(error).toMatchObject({ code: 'archive_damaged' });
    expect((error as Error).message).toMatch(/EGAF1.*DescribeFile/);
  });

  test('temporarily_unavailable, with the time to wait', async () => {
    const error = await failure(reply({ error: { code: 'temporarily_unavailable', retryAfterSeconds: 9 } }));
    expect(error).toMatchObject({ code: 'temporarily_unavailable' });
    expect(error).toMatchObject({ retryAfterSeconds: 9 });
  });
});

describe('a function that is busy or away is worth another try', () => {
  test.each([
    ['throttled', { status: 429, headers: { 'x-amzn-errortype': 'TooManyRequestsException' }, body: '{}' }],
    ['failing', { status: 500, headers: { 'x-amzn-errortype': 'ServiceException' }, body: '{}' }],
    ['silent', brokenConnection()],
  ])('%s', async (_, answer) => {
    expect(await failure(answer)).toMatchObject({ code: 'temporarily_unavailable' });
  });
});

describe('all else is a fault, whose text is not passed on', () => {
  const unforeseen = { errorType: 'Error', errorMessage: 'secret-text' };
  test.each([
    ['an error that the function did not foresee', reply(unforeseen, { 'x-amz-function-error': 'Unhandled' })],
    ['a reply of another form', reply({ description: { ...description, header: '63727970' } })],
    ['an error of another code', reply({ error: { code: 'not_found' } })],
    ['a refusal of the call', { status: 403, headers: { 'x-amzn-errortype': 'AccessDeniedException' }, body: '{}' }],
  ])('%s', async (_, answer) => {
    const error = await failure(answer);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toHaveProperty('code');
    expect(String(error)).not.toContain('secret-text');
  });
});
