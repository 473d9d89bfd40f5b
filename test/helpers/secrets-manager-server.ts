import { createServer } from 'node:http';
import { stopServer } from '../../lib/local/http.ts';
import { listenLocally } from './loopback.ts';

/**
 * Secrets Manager over HTTP with one secret that tests change, and others by their ARNs. Knows `GetSecretValue` for these ARNs
 * only; anything else is an error.
 */
export async function secretsManagerServer(secretArn: string, others: Readonly<Record<string, unknown>> = {}) {
  const state: { secret: unknown; failure: number | undefined } = { secret: undefined, failure: undefined };
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const answer = (status: number, document: unknown) => {
      response.writeHead(status, { 'Content-Type': 'application/x-amz-json-1.1' }).end(JSON.stringify(document));
    };
    if (state.failure) return answer(state.failure, { __type: 'InternalServiceError' });
    if (request.headers['x-amz-target'] !== 'secretsmanager.GetSecretValue') {
      return answer(400, { __type: 'InvalidAction' });
    }
    const { SecretId } = JSON.parse(body) as { SecretId?: string };
    const secrets: Readonly<Record<string, unknown>> = { ...others, [secretArn]: state.secret };
    if (SecretId === undefined || !(SecretId in secrets)) return answer(400, { __type: 'ResourceNotFoundException' });
    return answer(200, { ARN: SecretId, SecretString: JSON.stringify(secrets[SecretId]) });
  });
  return {
    url: await listenLocally(server),
    /** What is in the secret, and whether the service fails with a status. */
    state,
    stop: () => stopServer(server),
  };
}
