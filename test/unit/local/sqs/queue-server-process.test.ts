import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { optionsVariable, secretHeader } from '../../../../lib/local/sqs/queue-server-process.ts';

test('the embedded SQS engine answers on this machine alone, and only a caller with the secret of the run', async () => {
  const child = fork(fileURLToPath(new URL('../../../../lib/local/sqs/queue-server-process.ts', import.meta.url)), [], {
    env: { ...process.env, [optionsVariable]: JSON.stringify({ region: 'eu-north-1', secret: 'of this run' }) },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  try {
    const [{ port }] = (await once(child, 'message')) as [{ port: number }];
    const ask = (headers: Record<string, string>) =>
      fetch(`http://127.0.0.1:${port}`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': 'AmazonSQS.ListQueues', ...headers },
        body: '{}',
      });
    expect((await ask({})).status).toBe(403);
    expect((await ask({ [secretHeader]: 'another' })).status).toBe(403);
    expect((await ask({ [secretHeader]: 'of this run' })).status).toBe(200);
  } finally {
    child.disconnect();
    await once(child, 'exit');
  }
});
