import type { ServiceConnection } from '../../client/connection.ts';
import { UsageError } from '../../terminal/errors.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { basicOf } from '../settings.ts';
import { Sources, secretOf } from '../sources.ts';

const variables = { username: 'DATA_OUT_ADMIN_USERNAME', password: 'DATA_OUT_ADMIN_PASSWORD' };

/**
 * The credentials of the administrator: by option, else in the environment. Those of a researcher are others, and are
 * never tried in their place; nor is anything in the configuration file, which both may share.
 *
 * @throws UsageError when there is no user name
 */
export async function administratorOf(
  options: { readonly username?: string; readonly passwordFile?: string; readonly config?: string },
  terminal: Terminal,
): Promise<NonNullable<ServiceConnection['basic']>> {
  const sources = await Sources.open(terminal, options.config);
  const username = sources.option('--username', options.username) ?? sources.variable(variables.username);
  const password = secretOf(
    sources.option('--password-file', options.passwordFile) ?? sources.variable(`${variables.password}_FILE`),
    sources.variable(variables.password),
  );
  const basic = username && basicOf(username, password, terminal, variables);
  if (basic) return basic;
  throw new UsageError('there is no user name of an administrator', {
    remedy: `Say it with --username or ${variables.username}.`,
  });
}
