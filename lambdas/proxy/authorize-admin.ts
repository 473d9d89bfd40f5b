import { authenticateAdministrator } from '../../lib/api/export/authenticate-administrator.ts';
import { environment } from '../../lib/contract/environment.ts';
import { headersOf } from '../../lib/http/api-gateway.ts';
import { SecretAdministrators } from '../../lib/stores/secrets/administrators.ts';
import { secretsManagerClient } from '../../lib/stores/secrets/client.ts';
import { requestAuthorizer } from '../shared/authorizer.ts';
import { required } from '../shared/runtime.ts';

const administrators = new SecretAdministrators({
  client: secretsManagerClient(),
  secretArn: required(environment.adminSecretArn),
});

/**
 * Request authorizer of `/admin` and of all routes below `/export`: HTTP Basic. A user without the role ADMIN is let through, too: a
 * refusal here is a 401, and the function answers 403.
 */
export const handler = requestAuthorizer(
  ['POST/export/*', 'GET/export/*', 'GET/admin', 'GET/admin/'],
  async (event) => {
    const authorization = headersOf(event).get('authorization') ?? [];
    const { username, isAdministrator } = await authenticateAdministrator(authorization, administrators);
    return { principalId: username, context: { isAdministrator: String(isAdministrator) } };
  },
);
