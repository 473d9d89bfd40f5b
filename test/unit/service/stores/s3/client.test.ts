import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { HeadObjectCommand } from '@aws-sdk/client-s3';
import { expect, it } from 'vitest';
import { s3Client } from '../../../../../lib/service/stores/clients.ts';
import { testClient } from '../../../../helpers/http-handler.ts';

it('sends 64 requests at once: more than the copies that one file has in flight', async () => {
  // It answers only when all requests have arrived; with fewer sockets than requests this would never end.
  const waiting: ServerResponse[] = [];
  const server = createServer((_request, response) => {
    waiting.push(response);
    if (waiting.length === 64) for (const one of waiting) one.writeHead(200, { 'content-length': '1' }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const client = s3Client({ ...testClient, endpoint: `http://127.0.0.1:${port}` });
  const heads = await Promise.all(
    Array.from({ length: 64 }, () => client.send(new HeadObjectCommand({ Bucket: 'bucket', Key: 'key' }))),
  );
  expect(heads).toHaveLength(64);
  client.destroy();
  server.close();
  server.closeAllConnections();
});
