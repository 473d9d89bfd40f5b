import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { printable } from '../../terminal/output.ts';
import { openSession as openTerminalSession, type Session as TerminalSession } from '../../terminal/session.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import type { ServiceConnection } from '../api/connection.ts';
import { decodeVisaOrPassport } from '../api/order/decoded-visa.ts';
import { expiryWarning } from '../api/order/order-rules.ts';
import type { RetryPolicy } from '../api/retry.ts';
import type { Transport } from '../api/transport.ts';
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
  /** The service that the settings name, with the user's credentials. */
  service(): Promise<ServiceConnection>;
}

const maxAuthorityBytes = 4 * 1024 * 1024;

/**
 * @param retries default: the retries of the transport
 * @throws UsageError for a wrong setting
 */
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
  const { visa: stored, visaFile, passportFile, proxyUrl } = settings;
  let transport: Promise<Transport> | undefined;
  const opened = () => {
    transport ??= openTransport(settings, terminal, version, retries);
    return transport;
  };
  let accepted: Promise<readonly string[] | undefined> | undefined;
  const issuers = () => {
    accepted ??= opened().then((http) => acceptedIssuers(http, proxyUrl, terminal));
    return accepted;
  };
  let renewing: Promise<string> | undefined;
  const renewed = new Set<string>();
  const current = async (read: NonNullable<Settings['visa']>, refused: string | undefined, remark: Remark) => {
    // A sign-in stores only visas that the service accepts.
    if (visaFile !== passportFile) return await read({ issuers, remark });
    const { renewedVisa } = await import('./passport.ts');
    const use = { read: () => read({ remark }), refused, renewed, terminal, transport: opened };
    // The requests of a download share one renewal.
    renewing ??= renewedVisa(passportFile, use).finally(() => {
      renewing = undefined;
    });
    return await renewing;
  };
  const visa = stored && warnedVisa(settings, (refused, remark) => current(stored, refused, remark), session);
  return {
    ...session,
    settings,
    async service() {
      // On first use, because commands on local files do not need it.
      const { connect } = await import('../api/connection.ts');
      const { basic } = settings;
      const note = (text: string) => output.note(printable(text));
      return connect({ proxyUrl: proxyUrl?.href, visa, basic, note, transport: await opened() });
    },
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

/**
 * Whose visas the service accepts. What fails here also fails the command's own request, which says why. A command that only
 * reads the visas need not wait long.
 */
async function acceptedIssuers(transport: Transport, proxyUrl: URL | undefined, { signal }: Terminal) {
  if (proxyUrl === undefined) return undefined;
  const { aboutService } = await import('../api/login/about.ts');
  const { withSlash } = await import('../api/connection.ts');
  const about = await aboutService(transport, withSlash(proxyUrl), signal, 2).catch(() => undefined);
  return about?.issuers;
}

type Remark = (text: string) => void;

/**
 * Reads the visa for each request. Remarks on each new one that does not reach all files or has expired, and once on a file that
 * others can read.
 */
function warnedVisa(
  { visaFile }: Settings,
  read: (refused: string | undefined, remark: Remark) => Promise<string>,
  { output, terminal }: TerminalSession,
) {
  let last: string | undefined;
  return async (refused?: string) => {
    const remarks: string[] = [];
    const token = await read(refused, (text) => remarks.push(text));
    if (token === last) return token;
    for (const remark of new Set(remarks)) output.note(printable(remark));
    const isFirst = last === undefined;
    last = token;
    if (isFirst && visaFile) await warnWhenOthersCanRead('visa', visaFile, output);
    const decoded = decodeVisaOrPassport(token);
    const warning = decoded && expiryWarning(decoded, terminal.now());
    if (warning !== undefined) output.warn(warning);
    return token;
  };
}
