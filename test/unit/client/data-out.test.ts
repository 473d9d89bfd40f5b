import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { connect } from '../../../lib/client/connection.ts';
import { DataOutApi } from '../../../lib/client/data-out.ts';
import { Transport } from '../../../lib/client/transport.ts';

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
