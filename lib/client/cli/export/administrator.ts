import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { UsageError } from '../../../terminal/errors.ts';
import { DeliveryApi } from '../../api/delivery-api.ts';
import { ClientError } from '../../api/errors.ts';
import type { Session } from '../session.ts';
import { administratorVariables, basicOf, finder, type SettingOptions } from '../settings.ts';

/**
 * The service, with an administrator's credentials from the options, else from the environment. The configuration file and a
 * researcher's variables are ignored: they hold a researcher's credentials.
 * @throws UsageError when there is no user name or no address
 */
export async function administratorApi(session: Session, command: Command): Promise<DeliveryApi> {
  const { terminal } = session;
  const { username: user, passwordFile }: SettingOptions = command.optsWithGlobals();
  const find = finder(terminal);
  const username = find('--username', user, administratorVariables.username);
  const password = find('--password-file', passwordFile, administratorVariables.password_file);
  const basic = basicOf(username, password, terminal);
  if (basic === undefined) {
    const remedy = `Give it with --username or ${administratorVariables.username[0]}.`;
    throw new UsageError('there is no user name of an administrator', { remedy });
  }
  const service = await session.service();
  if (service.proxyUrl === undefined) {
    // Not by setup, which asks for a visa.
    const remedy = 'Give it with --url or DATA_OUT_URL.';
    throw new UsageError('no address of the service is set', { remedy });
  }
  return new DeliveryApi({ ...service, basic });
}

const remedies: Readonly<Record<string, string>> = {
  unauthenticated:
    "Check the administrator's user name and password (--username, --password-file, DATA_OUT_ADMIN_USERNAME, " +
    'DATA_OUT_ADMIN_PASSWORD); researcher credentials do not work here.',
  forbidden:
    'This user is not an administrator, or the address is incomplete, which usually ends in /v1/. Ask the operator.',
  not_found: 'Check --kind and the address.',
};

/**
 * The result of a call with an administrator's credentials.
 * @param own remedies of this call, by code
 * @throws ClientError with a remedy for administrators; the client's own remedies are for researchers
 */
export async function administered<T>(call: Promise<T>, own: typeof remedies = {}): Promise<T> {
  try {
    return await call;
  } catch (error) {
    const remedy = error instanceof ClientError ? (own[error.code] ?? remedies[error.code]) : undefined;
    if (!(error instanceof ClientError) || remedy === undefined) throw error;
    throw new ClientError(error.code, error.message, { remedy, cause: error });
  }
}
