import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { UsageError } from '../../../terminal/errors.ts';
import { DeliveryApi } from '../../api/delivery-api.ts';
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
  return new DeliveryApi({ ...(await session.service()), basic });
}
