import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { DataOutError } from '../../errors.ts';
import { usageError } from '../../terminal/errors.ts';
import type { Open } from './session.ts';

/** `server-file`: prints {@link serverFile}. */
export function registerServerFile(program: Command, open: Open): void {
  program
    .command('server-file')
    .description("print pyEGA3's server file (setting compatibility: ['ega'])")
    .option('--api-version <number>', 'form of the replies, 1 or 2', '2')
    .addHelpText('after', '\nExample:\n  data-out-ops --aws server-file > server.json')
    .action(async ({ apiVersion }, command) => {
      const { target, output } = open(command);
      if (!/^[12]$/.test(apiVersion)) throw usageError('--api-version', 'expected 1 or 2');
      const { directUrl } = await target();
      if (directUrl === undefined) throw new DataOutError('not_found', 'the deployment has no direct API');
      const file = serverFile(directUrl.replace(/\/$/, ''), apiVersion === '1' ? 1 : 2);
      output.result(file, JSON.stringify(file, null, 2));
    });
}

/** What tells pyEGA3 where an archive is. @param directUrl of the direct API, without a slash at the end */
export function serverFile(directUrl: string, version: 1 | 2) {
  return {
    url_auth: `${directUrl}/ega/token`,
    url_api: directUrl,
    url_api_metadata: `${directUrl}/ega/v${version}`,
    url_api_ticket: version === 1 ? `${directUrl}/htsget` : directUrl,
    url_api_stats: `${directUrl}/ega/stats`,
    // pyEGA3 insists on one, and the service asks for none.
    client_secret: 'none',
    api_version: version,
  };
}
