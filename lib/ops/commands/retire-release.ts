import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { usageError } from '../../terminal/errors.ts';
import { retirementExitCodes } from '../retirement/errors.ts';
import { registryApiUrl } from '../retirement/registry-access.ts';
import { checkRetirement } from '../retirement/request.ts';
import { runRetirement } from '../retirement/run.ts';
import type { Open } from './session.ts';

const afterHelp = `
Without --apply, only the plan is shown. If a run stopped half-way, repeat the command. With --json, standard output gets
one object with the plan, the steps, the checklist and every call that was made: keep it.

Environment:
  REGISTRY_PACKAGE_TOKEN   token with the scope delete:packages, or REGISTRY_PACKAGE_TOKEN_FILE
  REGISTRY_REPO_TOKEN      token with the scope repo, or REGISTRY_REPO_TOKEN_FILE
  REGISTRY_API_URL         base URL of the platform's API, unless --api-url is given

Exit codes, besides those of every command; the first digit is the class:
${Object.entries(retirementExitCodes)
  .map(([code, exitCode]) => `  ${exitCode} ${code}`)
  .join('\n')}

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
    .option('--also-remove-tags <tags>', 'all other tags of the image, with commas; they are also removed', list)
    .option('--no-release', 'the version never had a release entry')
    .option('--release-marked', 'the title was changed by hand: check it only')
    .option('--api-url <url>', "base URL of the platform's API (default: $REGISTRY_API_URL)")
    .option('--apply', 'execute the plan')
    .option('--yes', 'with --apply: do not ask')
    .option('--announce-file <file>', "also write the team's text to a file")
    .option('--team-told', 'the team knows: tick the last point of the checklist')
    .option('--max-wait <minutes>', 'longest wait for a rate limit', '65')
    .addHelpText('after', afterHelp)
    .action(async ({ release, apiUrl, apply, yes, teamTold, announceFile, maxWait, ...named }, command) => {
      const retirement = checkRetirement({ ...named, noRelease: !release });
      const session = open(command);
      await runRetirement(retirement, session, {
        apiUrl: registryApiUrl(apiUrl, session.terminal),
        apply: apply === true,
        yes: yes === true,
        teamTold: teamTold === true,
        announceFile,
        maxWaitSeconds: parseMinutes(maxWait) * 60,
      });
    });
}

function parseMinutes(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw usageError('--max-wait', 'expected a whole number of minutes');
  return Number(text);
}

function list(text: string): string[] {
  return text.split(',').map((each) => each.trim());
}
