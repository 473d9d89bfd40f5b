import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateKeyPair } from '../../../lib/crypt4gh/index.ts';
import { Service, until } from '../../helpers/service.ts';

const datasetId = 'EGAD00000000071';
const subject = 'traced';

let service: Service;
beforeAll(async () => {
  service = await Service.shared();
  for (const name of ['a', 'b', 'c']) await service.archive(datasetId, `${name}.vcf`, 2048);
  await service.archive(datasetId, 'large.bam', 9 * 1024 * 1024);
  await service.setDataset(datasetId, 'released');
});
afterAll(() => service?.stop());

interface Line {
  readonly functionName: string;
  readonly message: string;
  readonly trace?: string;
  readonly xray_trace_id?: string;
}

/** Log lines of the functions about one export. */
function linesOf(requestId: string): readonly Line[] {
  return service.logs
    .filter(({ line }) => line.startsWith('{') && line.includes(requestId))
    .map(({ functionName, line }) => ({ ...JSON.parse(line), functionName }));
}

async function settledLines(requestId: string): Promise<readonly Line[]> {
  return await until(() => {
    const lines = linesOf(requestId);
    return lines.some(({ message }) => message === 'settled') ? lines : undefined;
  }, 'the line of the settled request');
}

test('one trace leads from the administrator’s request through three queues to the receipt, and each log line names it', async () => {
  const headers: unknown[] = [];
  const unobserve = service.engine.traffic.observe(({ service: of, action, input }) => {
    if (of !== 'sqs' || !action.startsWith('SendMessage')) return;
    for (const entry of (input?.Entries as (typeof input)[] | undefined) ?? [input])
      headers.push(entry?.MessageSystemAttributes);
  });
  const visa = await service.visa({ datasetId, subject });
  const request = { id: datasetId, visa, publicKey: generateKeyPair().publicKey };
  const [first, second] = [await service.exported(request), await service.exported(request)];
  const lines = [await settledLines(first), await settledLines(second)];
  unobserve();

  const traces = lines.map((some) => {
    const requested = some.find(({ message }) => message === 'export requested');
    expect(requested?.trace).toMatch(/^1-[0-9a-f]{8}-[0-9a-f]{24}$/);
    // Of the invocation that took the request.
    expect(requested?.trace).toBe(requested?.xray_trace_id);
    const carried = some.filter(({ message }) =>
      /^(export requested|export accepted|staged|superseded|settled)$/.test(message),
    );
    expect(new Set(carried.map(({ functionName }) => functionName))).toEqual(
      new Set(['export', 'consume-export', 'stage-file', 'settle-delivery']),
    );
    expect(carried).toHaveLength(7);
    expect(new Set(carried.map(({ trace }) => trace))).toEqual(new Set([requested?.trace]));
    return requested?.trace;
  });
  expect(traces[0]).not.toBe(traces[1]);
  // For each export one request, four files and one delivery, at least.
  expect(headers.length).toBeGreaterThanOrEqual(12);
  for (const header of headers) {
    expect(header).toEqual({
      AWSTraceHeader: { DataType: 'String', StringValue: expect.stringMatching(/^Root=1-[^;]+;Sampled=0$/) },
    });
  }
});

test('the access log says when the headers and the first bytes of a streamed reply came', async () => {
  const visa = await service.visa({ datasetId, subject });
  await service.list(visa);
  await service.get('stream/none.c4gh', visa);
  await fetch(service.url('no-such-route'));
  const entries = await until(() => {
    const access = service.logs.filter(({ functionName }) => functionName === 'proxy-access');
    const parsed = access.map(({ line }) => JSON.parse(line));
    const wanted = ['/files', '/stream/{file}', '-'].map((route) => parsed.findLast((entry) => entry.route === route));
    return wanted.every(Boolean) ? wanted : undefined;
  }, 'three lines of the access log');
  const [streamed, buffered, unknown] = entries;
  const milliseconds = expect.stringMatching(/^\d+$/);
  expect(streamed).toMatchObject({
    transfer: 'STREAMED',
    headersMilliseconds: milliseconds,
    firstByteMilliseconds: milliseconds,
    functionMilliseconds: milliseconds,
  });
  expect(Number(streamed.headersMilliseconds)).toBeLessThanOrEqual(Number(streamed.firstByteMilliseconds));
  expect(Number(streamed.firstByteMilliseconds)).toBeLessThanOrEqual(Number(streamed.functionMilliseconds));
  const none = { headersMilliseconds: '-', firstByteMilliseconds: '-' };
  expect(buffered).toMatchObject({ ...none, transfer: 'BUFFERED', functionMilliseconds: milliseconds, status: '404' });
  expect(unknown).toMatchObject({ ...none, transfer: '-', functionMilliseconds: '-', status: '404' });
  // By this word the alarm on refused requests leaves out what the service does not have.
  expect(unknown).toMatchObject({ gatewayResponse: 'MISSING_AUTHENTICATION_TOKEN' });
});
