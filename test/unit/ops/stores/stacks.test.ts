import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readStackOutputs } from '../../../../lib/ops/stores/stacks.ts';
import type { AwsClientOptions } from '../../../../lib/service/stores/clients.ts';
import { testClient } from '../../../helpers/http-handler.ts';

const outputs: Readonly<Record<string, string>> = {
  One: '<member><OutputKey>A</OutputKey><OutputValue>1</OutputValue></member>',
  Two: '<member><OutputKey>B</OutputKey><OutputValue>2</OutputValue></member>',
};
let server: Server;
let options: AwsClientOptions;

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const form = new URLSearchParams(await text(request));
    expect(form.get('Action')).toBe('DescribeStacks');
    const found = outputs[form.get('StackName') ?? ''];
    const reply = found
      ? `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><Outputs>${found}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`
      : '<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code><Message>Stack does not exist</Message></Error></ErrorResponse>';
    response.writeHead(found ? 200 : 400, { 'content-type': 'text/xml' }).end(reply);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  options = { ...testClient, endpoint: `http://127.0.0.1:${port}` };
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

it('joins the outputs of the stacks, and tells the region', async () => {
  expect(await readStackOutputs(['One', 'Two'], options)).toEqual({
    outputs: { A: '1', B: '2' },
    region: 'eu-north-1',
  });
});

it('names the stack that is missing', async () => {
  const missing = readStackOutputs(['One', 'Three'], options);
  await expect(missing).rejects.toThrow(expect.objectContaining({ code: 'not_found' }));
  await expect(missing).rejects.toThrow('Three');
});
