import { environment } from '../../lib/contract/environment.ts';
import { impatientSecretsManagerClient } from '../../lib/stores/secrets/client.ts';
import { SecretDenyList } from '../../lib/stores/secrets/deny-list.ts';
import { required } from './environment.ts';

/** The deny list of the deployment. @throws at start-up when the stack names none */
export function visaDenyList(): SecretDenyList {
  const secretArn = required(environment.visaDenyListSecretArn);
  return new SecretDenyList({ client: impatientSecretsManagerClient(), secretArn });
}
