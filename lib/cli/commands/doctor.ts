import type { Command } from 'commander';
import type { ServiceConnection } from '../../client/connection.ts';
import { DataOutApi } from '../../client/data-out.ts';
import type { Probe } from '../../client/probe.ts';
import { ProxyApi } from '../../client/proxy.ts';
import { readStagedHeader } from '../../client/staged-header.ts';
import { CheckList, type CheckResult, failed } from '../doctor/check.ts';
import { checkHeader, checkKeys, readLocalHeader } from '../doctor/key-checks.ts';
import { checkApi, checkClock, directApi, proxyApi } from '../doctor/service-checks.ts';
import { checkVisa } from '../doctor/visa-check.ts';
import { withKeyOptions, withServiceOptions } from '../options.ts';
import { type CommandContext, openSession, type Session } from '../session.ts';

interface DoctorOptions {
  readonly header?: string;
  readonly staged?: string;
}

/** A person waits for the answer: few retries, short pauses. */
const impatient = { attempts: 2, firstDelayMs: 500, longestDelayMs: 1_000 };

const refused = 'Correct what the service names: get a new visa, or look at --username and the password.';

const afterHelp = `
Each line has a verdict, the check and its finding. The line below says what to do. Visas are decoded, not verified: only the
service knows which issuers it trusts. The exit code is that of the first failed check, and 0 if none failed.

Examples:
  data-out doctor
  data-out doctor --key me.sec.pem --key old.sec.pem --header sample.bam.c4gh
  data-out doctor --key me.sec.pem --staged EGAF00000000001-sample.bam.c4gh`;

/** `doctor`: checks the settings, the service and the keys, and says what to do about each failure. */
export function registerDoctor(program: Command, context: CommandContext): void {
  const command = program.command('doctor').description('check the settings, the service and your keys');
  withKeyOptions(command)
    .option('--header <file>', 'say which of your keys opens this Crypt4GH file, or header')
    .option('--staged <name>', 'the same for a file in your outbox, without downloading it');
  withServiceOptions(command)
    .addHelpText('after', afterHelp)
    .action(async (options: DoctorOptions, self: Command) => {
      await using session = await openSession(context, self, impatient);
      const list = new CheckList(session.output);
      for await (const result of examine(session, options)) list.add(result);
      if (list.error) throw list.error;
    });
}

async function* examine(session: Session, options: DoctorOptions): AsyncGenerator<CheckResult, void, undefined> {
  const service = yield* attempt('settings', () => session.service());
  const seen = service && (yield* address(session, service));
  yield* visa(session, seen);
  const proxy = seen && service && new ProxyApi(service);
  if (proxy) yield* credentials(session, proxy);
  else yield { check: 'credentials', verdict: 'skipped', text: 'not tried: the address of the service does not work' };
  if (service?.dataOutUrl) yield* direct(session, service, service.dataOutUrl);
  else yield { check: 'direct', verdict: 'skipped', text: 'no address of a data-out API is set: --direct-url' };
  yield* keysAndHeaders(session, options, proxy);
}

async function* address(session: Session, service: ServiceConnection): AsyncGenerator<CheckResult, Probe | undefined> {
  const { proxyUrl } = service;
  if (proxyUrl === undefined) {
    const text = 'no address of the service is set';
    const remedy = 'Give it with --url, DATA_OUT_URL, or url in the configuration file.';
    yield { check: 'address', verdict: 'failed', code: 'usage', text, remedy };
    return undefined;
  }
  const { results, seen } = await checkApi(proxyApi(proxyUrl), service, session.terminal.signal);
  yield* results;
  if (seen) yield checkClock(seen);
  return seen;
}

async function* visa({ settings, terminal }: Session, seen: Probe | undefined): AsyncGenerator<CheckResult, void> {
  const check = 'visa';
  const read = settings.visa;
  if (read === undefined) {
    const remedy = 'Give it with --visa FILE, DATA_OUT_VISA_FILE, or visa_file in the configuration file.';
    yield { check, verdict: 'failed', code: 'usage', text: 'no visa is set', remedy };
    return;
  }
  const token = yield* attempt(check, read);
  if (token !== undefined) yield checkVisa(token, seen?.date ?? terminal.now());
}

/** Whether the listing works. It needs the same credentials as a download. */
async function* credentials({ settings, terminal }: Session, proxy: ProxyApi): AsyncGenerator<CheckResult, void> {
  const check = 'credentials';
  if (settings.visa === undefined) {
    yield { check, verdict: 'skipped', text: 'not tried: no visa is set' };
    return;
  }
  const list = () => proxy.listPage({ page: 0, perPage: 1, signal: terminal.signal });
  const page = yield* attempt(check, list, { unauthenticated: refused });
  if (page === undefined) return;
  const outbox = page.files.length === 0 ? 'which is empty' : 'which has files';
  const user = settings.basic ? 'visa, user name and password are' : 'the visa is';
  yield { check, verdict: 'ok', text: `${user} accepted: the service shows your outbox, ${outbox}` };
}

async function* direct(session: Session, service: ServiceConnection, url: URL): AsyncGenerator<CheckResult, void> {
  const { results, seen } = await checkApi(directApi(url), service, session.terminal.signal);
  yield* results;
  if (seen === undefined || session.settings.visa === undefined) return;
  const api = new DataOutApi(service);
  const ids = yield* attempt('datasets', () => api.datasets({ signal: session.terminal.signal }));
  if (ids === undefined) return;
  const details = { datasets: ids };
  if (ids.length > 0) {
    yield { check: 'datasets', verdict: 'ok', text: `granted and released: ${ids.join(', ')}`, details };
    return;
  }
  const remedy = 'Ask the data access committee whether the dataset is released.';
  yield { check: 'datasets', verdict: 'warning', text: 'no dataset is both granted and released', remedy, details };
}

async function* keysAndHeaders(
  session: Session,
  { header, staged }: DoctorOptions,
  proxy: ProxyApi | undefined,
): AsyncGenerator<CheckResult, void> {
  const { results, keys } = await checkKeys(session);
  try {
    yield* results;
    if (header !== undefined) {
      const bytes = yield* attempt('header', () => readLocalHeader(header, session.terminal.folder));
      if (bytes) yield checkHeader(header, bytes, keys);
    }
    if (staged !== undefined && proxy === undefined) {
      yield {
        check: 'header',
        verdict: 'skipped',
        text: `${staged}: not tried, because the address of the service does not work`,
      };
    } else if (staged !== undefined && proxy) {
      const bytes = yield* attempt('header', () => readStagedHeader(proxy, staged, session.terminal.signal));
      if (bytes) yield checkHeader(staged, bytes, keys);
    }
  } finally {
    for (const { privateKey } of keys) privateKey.fill(0);
  }
}

/** Does `work`. Yields a failed check when it throws. */
async function* attempt<T>(
  check: string,
  work: () => Promise<T>,
  remedies: Parameters<typeof failed>[2] = {},
): AsyncGenerator<CheckResult, T | undefined> {
  try {
    return await work();
  } catch (error) {
    yield failed(check, error, remedies);
    return undefined;
  }
}
