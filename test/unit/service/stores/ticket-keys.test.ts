import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { expect, test } from 'vitest';
import { secretTicketKeys } from '../../../../lib/service/stores/secrets.ts';
import { httpHandler, testClient } from '../../../helpers/http-handler.ts';

test('the key of tickets is read every five minutes, and again after ten seconds when it does not fit', async () => {
  const secret = { key: 'a'.repeat(64), reads: 0, now: 0 };
  const requestHandler = httpHandler(() => {
    secret.reads += 1;
    return { status: 200, body: JSON.stringify({ SecretString: JSON.stringify({ key: secret.key }) }) };
  });
  const keys = secretTicketKeys({
    client: new SecretsManagerClient({ ...testClient, requestHandler }),
    secretArn: 'arn:aws:secretsmanager:eu-north-1:1:secret:ticket',
    clock: () => new Date(secret.now),
  });
  expect(Buffer.from(await keys.current()).toString()).toBe('a'.repeat(64));
  secret.key = 'b'.repeat(64);
  secret.now = 9_999;
  expect(Buffer.from(await keys.refreshed()).toString()).toBe('a'.repeat(64));
  secret.now = 10_000;
  expect(Buffer.from(await keys.refreshed()).toString()).toBe('b'.repeat(64));
  secret.now += 299_999;
  await keys.current();
  expect(secret.reads).toBe(2);
  secret.now += 1;
  await keys.current();
  expect(secret.reads).toBe(3);
});
