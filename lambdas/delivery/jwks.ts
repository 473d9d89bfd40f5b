import { environment } from '../../lib/contract/environment.ts';
import { proxyChallenge } from '../../lib/contract/http.ts';
import { publicReply } from '../../lib/service/http/reply.ts';
import { kmsClient } from '../../lib/service/stores/clients.ts';
import { type SigningJwk, signingJwk } from '../../lib/service/stores/receipt-signer.ts';
import { bufferedHandler } from '../shared/http.ts';
import { required } from '../shared/runtime.ts';

const client = kmsClient();
const keyArns = required(environment.receiptKeyArns).split(',');

/** Once all keys are read they are kept: a new key makes a new deployment. */
let known: readonly SigningJwk[] | undefined;

/** `GET|HEAD /.well-known/jwks.json`: the public keys of delivery receipts as a JWK set (RFC 7517 § 5), without credentials. */
export const handler = bufferedHandler(proxyChallenge, async ({ requestId }) => {
  known ??= await Promise.all(keyArns.map((keyArn) => signingJwk(client, keyArn)));
  return publicReply(requestId, { keys: known }, 'application/jwk-set+json');
});
