import { environment } from '../../lib/contract/environment.ts';
import { authenticateAdministrator } from '../../lib/service/http/administrator.ts';
import { headersOf } from '../../lib/service/http/api-gateway.ts';
import { secretsManagerClient } from '../../lib/service/stores/clients.ts';
import { secretAdministrators } from '../../lib/service/stores/secrets.ts';
import { requestAuthorizer } from '../shared/authorizer.ts';
import { required } from '../shared/runtime.ts';

const administrators = secretAdministrators({
  client: secretsManagerClient(),
  secretArn: required(environment.adminSecretArn),
});

/**
 * Request authorizer of `/admin` and of all routes below `/export`: HTTP Basic. A user without the role ADMIN is also let through: a
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
