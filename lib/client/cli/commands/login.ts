import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { UsageError } from '../../../terminal/errors.ts';
import { warnOfCommit } from '../../../terminal/git-warning.ts';
import { counted, printable } from '../../../terminal/output.ts';
import type { Terminal } from '../../../terminal/terminal.ts';
import { ClientError } from '../../api/errors.ts';
import { aboutService, type EarlierSignIn } from '../../api/login/about.ts';
import { Issuer } from '../../api/login/sign-in.ts';
import { datasetsOf } from '../../api/order/decoded-visa.ts';
import { urlOption, withConnectionOptions } from '../options.ts';
import { renewalFile, replaceSignIn } from '../passport.ts';
import { type CommandContext, openSession, type Session } from '../session.ts';

const loginHelp = `
Prints an address and a code. Open the address in any browser, also on another computer or a telephone, and enter the code. Your
visas are then stored in passport.json beside the configuration file, and every command finds them there. data-out visas lists them.

Visas expire. With --keep, a token of the sign-in service is stored as well (login.json), with which data-out renews them. A
person who has that file can also renew them. data-out logout removes both files.

Examples:
  data-out login
  data-out login --keep
  data-out login --browser`;

const logoutHelp = `
Removes passport.json and login.json, and asks the sign-in service to forget the token.

Example:
  data-out logout`;

/** `login` and `logout`: visas from a sign-in instead of a file by mail. */
export function registerLogin(program: Command, context: CommandContext): void {
  const login = program
    .command('login')
    .description('sign in, and get your visas')
    .option(...urlOption)
    .option('--keep', 'renew the visas later without you')
    .option('--browser', 'also open the address in a browser on this machine');
  withConnectionOptions(login)
    .addHelpText('after', loginHelp)
    .action(async (options, command) => {
      await using session = await openSession(context, command);
      await signIn(session, options);
    });
  withConnectionOptions(program.command('logout').description('remove your visas, and end the sign-in'))
    .addHelpText('after', logoutHelp)
    .action(async (_options, command) => {
      await using session = await openSession(context, command);
      const { output, terminal, settings } = session;
      const { passportFile } = settings;
      const signedOut = existsSync(passportFile);
      // First, because asking the sign-in service can take long, fail or be interrupted.
      const earlier = await replaceSignIn(passportFile, {}, terminal);
      const failure = earlier && (await forget(earlier, session));
      if (failure !== undefined) output.warn(printable(failure));
      output.result({ signedOut }, signedOut ? 'Signed out' : 'You were not signed in');
    });
}

/** Signs the user in, and stores what that gives. @throws ClientError */
async function signIn(session: Session, options: { readonly keep?: boolean; readonly browser?: boolean }) {
  const { settings, output, terminal } = session;
  const { passportFile, visaFile, visaSource } = settings;
  const service = await session.service();
  const { login, organization, issuers } = await aboutService(service, terminal.signal);
  if (login === undefined) {
    throw new ClientError('usage', `${printable(organization)} has not set up signing in`, {
      remedy: 'Ask the data access committee for a visa file, and name it with --visa or in data-out setup.',
    });
  }
  const show: Parameters<Issuer['signIn']>[1] = (device, expires) => {
    const { verification_uri: url, verification_uri_complete: directUrl, user_code: code } = device;
    output.note(printable(`Open ${url} in any browser, on any device, and enter the code ${code}`));
    if (directUrl) output.note(printable(`Or open this address, which has the code: ${directUrl}`));
    output.note(`Waiting until ${expires.toISOString().slice(11, 16)} UTC; Ctrl-C quits.`);
    if (options.browser) openBrowser(directUrl ?? url, terminal, output.warn);
  };
  const where = { ...login, issuers };
  const signedIn = await new Issuer(where, service.transport, terminal.signal).signIn(options.keep === true, show);
  const { visas, otherIssuers, subject, refreshToken } = signedIn;
  const renewal = options.keep && refreshToken !== undefined ? { ...where, subject, refreshToken } : undefined;
  const before = await replaceSignIn(passportFile, { visas, renewal }, terminal);
  const files = renewal ? [passportFile, renewalFile(passportFile)] : [passportFile];
  for (const file of files) await warnOfCommit(file, output);
  const datasets = datasetsOf(signedIn);
  const named = `${datasets.slice(0, 5).join(', ')}${datasets.length > 5 ? ', …' : ''}`;
  const text = `Signed in as ${subject}, with visas for ${counted(datasets.length, 'dataset')}: ${named}`;
  output.result({ passport: passportFile, renewal: files[1] ?? null, subject, datasets }, printable(text));
  for (const other of otherIssuers) {
    output.warn(printable(`visas of ${other} are left out: the service does not accept them`));
  }
  if (options.keep && !renewal) {
    output.warn('the sign-in service gave no token to keep: sign in again when the visas expire');
  }
  if (visaSource !== undefined && visaFile !== passportFile) {
    output.warn(`${printable(visaSource)} sets another visa, which overrides the sign-in: remove that setting`);
  }
  // Its token is in no file now. A failure is not reported, because the new sign-in is complete.
  if (before && before.refreshToken !== refreshToken) await forget(before, session);
}

/** Asks the sign-in service to forget a sign-in. @returns why it still knows it */
async function forget(earlier: EarlierSignIn, { service, terminal }: Session): Promise<string | undefined> {
  try {
    const { transport } = await service();
    if (await new Issuer(earlier, transport, terminal.signal).revoke(earlier)) return undefined;
    return `${new URL(earlier.issuer).host} cannot end a sign-in from here, so end it on its own page`;
  } catch (error) {
    const isKnown = error instanceof ClientError || error instanceof UsageError;
    if (!isKnown || error.code === 'interrupted') throw error;
    return `the sign-in service still knows the token: ${error.message}`;
  }
}

/** Opens the address where there is a display. The user might read it elsewhere, so a failure is only a warning. */
function openBrowser(url: string, { env }: Terminal, warn: (text: string) => void): void {
  const display = env.DISPLAY || env.WAYLAND_DISPLAY;
  const known = { win32: ['rundll32', 'url.dll,FileProtocolHandler'], darwin: ['open'] };
  const words = known[process.platform as keyof typeof known] ?? (display ? ['xdg-open'] : []);
  const [program, ...argv] = /^https?:/.test(url) ? words : [];
  if (program === undefined) {
    warn('this machine has no display to open a browser on');
    return;
  }
  // The browser can run for longer than this program.
  const browser = spawn(program, [...argv, url], { stdio: 'ignore', detached: true });
  browser.on('error', () => warn('no browser could be opened: open the address yourself')).unref();
}
