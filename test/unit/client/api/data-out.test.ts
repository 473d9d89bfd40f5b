import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { connect } from '../../../../lib/client/api/connection.ts';
import { DataOutApi } from '../../../../lib/client/api/data-out.ts';
import { Transport } from '../../../../lib/client/api/transport.ts';

test('a visa is all that direct access sends: a password is not even asked for', async () => {
  const sent: (string | undefined)[] = [];
  const server = createServer((incoming, outgoing) => {
    sent.push(incoming.headers.authorization);
    outgoing.end('[]');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  await using transport = new Transport({ userAgent: 'test' });
  const asked: string[] = [];
  const connection = connect({
    dataOutUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    visa: async () => 'the.visa.itself',
    basic: async () => {
      asked.push('password');
      return { username: 'central', password: 'secret' };
    },
    transport,
  });
  const api = new DataOutApi(connection);
  expect([await api.datasets(), await api.files('EGAD1')]).toEqual([[], []]);
  expect(sent).toEqual(['Bearer the.visa.itself', 'Bearer the.visa.itself']);
  expect(asked).toEqual([]);
  server.close();
});

test.each([
  [
    'the files of a dataset come in pages, each behind the last file of the one before',
    20_000,
    ['EGAF09999', 'EGAF19999'],
  ],
  ['an earlier version of the service gives all files of a dataset each time', 10_000, ['EGAF09999']],
])('%s', async (_what, count, behind) => {
  const ids = Array.from({ length: count }, (_, index) => `EGAF${String(index).padStart(5, '0')}`);
  const knowsPages = count > 10_000;
  const asked: (readonly (string | null)[])[] = [];
  const server = createServer((incoming, outgoing) => {
    const query = new URL(incoming.url ?? '', 'http://service').searchParams;
    const [rows, after] = [query.get('per_page'), query.get('after')];
    asked.push([rows, after]);
    const begin = after === null || !knowsPages ? 0 : ids.indexOf(after) + 1;
    const page = ids.slice(begin, begin + Number(rows));
    outgoing.end(
      JSON.stringify(page.map((fileId) => ({ fileId, datasetId: 'EGAD1', fileName: 'a', displayFileName: 'a' }))),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  await using transport = new Transport({ userAgent: 'test' });
  const dataOutUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const api = new DataOutApi(connect({ dataOutUrl, visa: async () => 'the.visa.itself', transport }));
  expect((await api.files('EGAD1')).map(({ fileId }) => fileId)).toEqual(ids);
  expect(asked).toEqual([null, ...behind].map((after) => ['10000', after]));
  server.close();
});
