import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { receiptKeysReply } from '../../lib/api/receipt-keys.ts';
import { proxyChallenge } from '../../lib/contract/challenges.ts';
import { environment } from '../../lib/contract/environment.ts';
import { resultOf } from '../../lib/http/api-gateway.ts';
import { kmsClient } from '../../lib/stores/kms/client.ts';
import { type SigningJwk, signingJwk } from '../../lib/stores/kms/public-key.ts';
import { answer } from '../shared/http.ts';
import { required } from '../shared/runtime.ts';

const client = kmsClient();
const keyArns = required(environment.receiptKeyArns).split(',');

/** Once all keys are read they are kept: a new key makes a new deployment. */
let known: readonly SigningJwk[] | undefined;

/** `GET /.well-known/jwks.json`: the public keys of delivery receipts, without credentials. */
export async function handler(event: APIGatewayProxyEvent): Promise<APIGatewayProxyResult> {
  return resultOf(
    await answer(event, proxyChallenge, async ({ requestId }) => {
      known ??= await Promise.all(keyArns.map((keyArn) => signingJwk(client, keyArn)));
      return receiptKeysReply(requestId, known);
    }),
  );
}
