import { afterAll, beforeAll, expect, test } from 'vitest';
import { Service, until } from '../../helpers/service.ts';

const datasetId = 'EGAD00000000071';
const subject = 'traced';

let service: Service;
beforeAll(async () => {
  service = await Service.shared();
});
afterAll(() => service?.stop());

test('the access log says when the headers and the first bytes of a streamed reply came', async () => {
  const visa = await service.visa({ datasetId, subject });
  await service.list(visa);
  await fetch(service.url('.well-known/jwks.json'));
  await fetch(service.url('no-such-route'));
  const entries = await until(() => {
    const access = service.logs.filter(({ functionName }) => functionName === 'proxy-access');
    const parsed = access.map(({ line }) => JSON.parse(line));
    const wanted = ['/files', '/.well-known/jwks.json', '-'].map((route) =>
      parsed.findLast((entry) => entry.route === route),
    );
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
  expect(buffered).toMatchObject({ ...none, transfer: 'BUFFERED', functionMilliseconds: milliseconds, status: '200' });
  expect(unknown).toMatchObject({ ...none, transfer: '-', functionMilliseconds: '-', status: '404' });
  // By this word the alarm on refused requests leaves out what the service does not have.
  expect(unknown).toMatchObject({ gatewayResponse: 'MISSING_AUTHENTICATION_TOKEN' });
});
