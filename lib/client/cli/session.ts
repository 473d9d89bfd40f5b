import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { printable } from '../../terminal/output.ts';
import { openSession as openTerminalSession, type Session as TerminalSession } from '../../terminal/session.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import type { ServiceConnection } from '../api/connection.ts';
import { decodeVisaOrPassport } from '../api/order/decoded-visa.ts';
import { expiryWarning } from '../api/order/order-rules.ts';
import type { RetryPolicy } from '../api/retry.ts';
import type { Transport } from '../api/transport.ts';
import type { HeldVisa } from '../api/visa-choice.ts';
import { readSmallFile, warnWhenOthersCanRead } from './secrets.ts';
import { readSettings, type Settings } from './settings.ts';

/** What commands need to open a session. */
export interface CommandContext {
  readonly terminal: Terminal;
  /** Of the client, as in `data-out --version`. */
  readonly version: string;
}

/** What one run of one command works with. Its disposal removes the progress and closes connections. */
export interface Session extends TerminalSession, AsyncDisposable {
  readonly settings: Settings;
  /**
   * The user's visa, read each time, and renewed if it comes from a sign-in.
   * @param refused the one that the service does not take: another one is of more use
   * @throws ClientError `usage` if none is set
   */
  visa(refused?: string): Promise<HeldVisa>;
  /** The service that the settings name, with the user's credentials. */
  service(): Promise<ServiceConnection>;
}

const maxAuthorityBytes = 4 * 1024 * 1024;

/** @param retries default: the retries of the transport @throws UsageError for a wrong setting */
export async function openSession(context: CommandContext, command: Command, retries?: RetryPolicy): Promise<Session> {
  return sessionOf(context, command, await readSettings(command.optsWithGlobals(), context.terminal), retries);
}

/** The same with other settings than the command line's. */
export function sessionOf(
  { terminal, version }: CommandContext,
  command: Command,
  settings: Settings,
  retries?: RetryPolicy,
): Session {
  const session = openTerminalSession(terminal, command);
  const { output, progress } = session;
  let transport: Promise<Transport> | undefined;
  const opened = () => {
    transport ??= openTransport(settings, terminal, version, retries);
    return transport;
  };
  const service = async () => {
    // On first use, because commands on local files do not need it.
    const { connect } = await import('../api/connection.ts');
    const note = (text: string) => output.note(printable(text));
    const token = async (refused?: string) => (await visa(refused)).token;
    const { proxyUrl, basic } = settings;
    return connect({ proxyUrl, visa: token, basic, note, transport: await opened() });
  };
  const visa = warnedVisa(settings, session, opened, service);
  return {
    ...session,
    settings,
    visa,
    service,
    async [Symbol.asyncDispose]() {
      progress.end();
      await (await transport?.catch(() => undefined))?.close();
    },
  };
}

/** HTTP by the settings. Close it. @throws UsageError, ClientError for the file of certificate authorities */
export async function openTransport(
  { caFile, insecureHttp }: Pick<Settings, 'caFile' | 'insecureHttp'>,
  { env }: Terminal,
  version: string,
  retries: RetryPolicy | undefined,
): Promise<Transport> {
  const authorities = caFile && (await readSmallFile('certificate authority', caFile, maxAuthorityBytes));
  const { Transport } = await import('../api/transport.ts');
  return new Transport({
    ...{ proxies: env, extraAuthorities: authorities?.toString('utf8'), insecureHttp },
    ...{ userAgent: `data-out/${version}`, ...(retries && { retries }) },
  });
}

/** Reads the visa, and remarks on each new one that does not reach all files or has expired, and once on a file that others can read. */
function warnedVisa(
  { visa: stored, visaFile, passportFile }: Settings,
  { output, terminal }: TerminalSession,
  transport: () => Promise<Transport>,
  service: Session['service'],
): Session['visa'] {
  if (stored === undefined) return async () => (await import('../api/connection.ts')).noVisa();
  let accepted: ReturnType<typeof acceptedIssuers> | undefined;
  const issuers = () => {
    accepted ??= acceptedIssuers(service, terminal);
    return accepted;
  };
  let signIn: Promise<Session['visa']> | undefined;
  const current = async (refused?: string) => {
    if (visaFile !== passportFile) return await stored({ issuers });
    // A sign-in stores only visas that the service accepts.
    const use = { read: stored, terminal, transport };
    signIn ??= import('./passport.ts').then(({ renewedVisas }) => renewedVisas(passportFile, use));
    return await (await signIn)(refused);
  };
  let last: string | undefined;
  return async (refused) => {
    const held = await current(refused);
    if (held.token === last) return held;
    const isFirst = last === undefined;
    last = held.token;
    if (held.note) output.note(printable(held.note));
    if (isFirst && visaFile) await warnWhenOthersCanRead('visa', visaFile, output);
    const decoded = decodeVisaOrPassport(held.token);
    const warning = decoded && expiryWarning(decoded, terminal.now());
    if (warning !== undefined) output.warn(warning);
    return held;
  };
}

/** Whose visas the service accepts, if it says so soon. What fails here also fails the request of the command, which says why. */
async function acceptedIssuers(service: Session['service'], { signal }: Terminal) {
  const { aboutService } = await import('../api/login/about.ts');
  try {
    return (await aboutService(await service(), signal, 2)).issuers;
  } catch {
    return undefined;
  }
}
