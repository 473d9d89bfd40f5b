import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { usageError } from '../../terminal/errors.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { checkRetirement } from '../retirement/request.ts';
import { runRetirement } from '../retirement/run.ts';
import type { Open } from './session.ts';

const afterHelp = `
Without --apply, only the plan is shown. If a run stopped half-way, repeat the command. With --json, standard output gets one
object with the plan, the steps, the checklist, the text for the team and every call that was made, so keep it.

Environment:
  REGISTRY_PACKAGE_TOKEN   token with the scope delete:packages, or REGISTRY_PACKAGE_TOKEN_FILE
  REGISTRY_REPO_TOKEN      token with the scope repo, or REGISTRY_REPO_TOKEN_FILE
  REGISTRY_API_URL         base URL of the platform's API, unless --api-url is given

Example:
  data-out-ops retire-release --org acme --repository archive --package proxy \\
    --component proxy --version 1.2.0 --replacement 1.2.1`;

/** `retire-release`: deletes a broken release's image and Git tag, and marks its release entry. */
export function registerRetireRelease(program: Command, open: Open): void {
  program
    .command('retire-release')
    .description('retire a broken release: delete image and Git tag, mark release entry')
    .requiredOption('--org <name>', 'organization on the platform')
    .requiredOption('--repository <name>', 'repository with release entry and Git tag')
    .requiredOption('--package <name>', 'container package with the image')
    .requiredOption('--component <name>', 'component in the image tag <component>-<version>')
    .requiredOption('--version <version>', 'the broken version')
    .requiredOption('--replacement <version>', 'version to use instead, in the registry')
    .option('--tag <name>', 'Git tag (default: <component>-<version>)')
    .option('--also-remove-tags <tags>', 'all other tags of the image, with commas; they are also removed')
    .option('--no-release', 'the version never had a release entry')
    .option('--api-url <url>', "base URL of the platform's API (default: $REGISTRY_API_URL)")
    .option('--apply', 'execute the plan')
    .option('--yes', 'with --apply: do not ask')
    .option('--team-told', 'the team knows: tick the last point of the checklist')
    .addHelpText('after', afterHelp)
    .action(async ({ release, apiUrl, apply = false, yes = false, teamTold = false, ...named }, command) => {
      const alsoRemoveTags = named.alsoRemoveTags?.split(',').map((each) => each.trim());
      const retirement = checkRetirement({ ...named, alsoRemoveTags, noRelease: !release });
      const session = open(command);
      const baseUrl = registryApiUrl(apiUrl, session.terminal);
      const tokens = {
        packages: await readToken('REGISTRY_PACKAGE_TOKEN', 'delete:packages', session.terminal),
        repository: await readToken('REGISTRY_REPO_TOKEN', 'repo', session.terminal),
      };
      await runRetirement(retirement, session, { baseUrl, tokens, apply, yes, teamTold });
    });
}

/** The API's base address, without a final slash. Only to this machine may a token go without TLS. @throws UsageError */
function registryApiUrl(option: string | undefined, { env }: Terminal): string {
  const text = option ?? env.REGISTRY_API_URL ?? '';
  const field = option === undefined ? 'REGISTRY_API_URL' : '--api-url';
  if (text === '') throw usageError('--api-url', "say the base URL of the platform's API, or set REGISTRY_API_URL");
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username || url.password) {
    throw usageError(field, 'expected a URL such as https://api.example.org, without query and credentials');
  }
  if (url.protocol === 'http:' && !['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname)) {
    throw usageError(field, 'expected https: a token must not cross a network unencrypted');
  }
  return url.href.replace(/\/+$/, '');
}

/**
 * A token from the variable, or from the file that `<variable>_FILE` names: other users of the machine can read options.
 * @throws UsageError
 */
async function readToken(tokenName: string, scope: string, { env, folder }: Terminal) {
  const fileName = `${tokenName}_FILE`;
  const [direct, file] = [env[tokenName], env[fileName]];
  if (direct && file) throw usageError(tokenName, `is set, and so is ${fileName}; omit one`);
  const token = file ? (await readFile(resolve(folder, file), 'utf8')).trim() : direct?.trim();
  if (!token) throw usageError(tokenName, `is not set: put the token there, or the name of a file into ${fileName}`);
  if (!/^[\x21-\x7e]+$/.test(token)) throw usageError(file ? fileName : tokenName, 'expected one token on one line');
  return { tokenName, scope, token };
}
