import { inspect } from 'node:util';
import type * as z from 'zod';
import { operatorFiles } from '../contract/synth.ts';
import { type Settings, settingsSchema } from './settings.ts';

/** Settings that cannot work. The message names every field that is wrong. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/** Check every field, and report all mistakes at once. @throws SettingsError */
export function checkSettings(settings: Settings): void {
  const { error } = settingsSchema.safeParse(settings);
  const faults = [
    ...(error?.issues ?? []).flatMap((issue) => faultsOf(issue, settings)),
    ...contradictions(new Map(leaves(settings))),
  ];
  if (faults.length > 0) throw new SettingsError(`${operatorFiles.settings} cannot work:\n  ${faults.join('\n  ')}`);
}

function faultsOf(issue: z.core.$ZodIssue, settings: Settings): readonly string[] {
  if (issue.code === 'invalid_union' && nameOf(issue.path) === 'database') {
    const { database } = settings;
    const isExisting = typeof database === 'object' && database !== null && 'clusterArn' in database;
    const ofItsKind = issue.errors[isExisting ? 1 : 0] ?? [];
    return ofItsKind.flatMap((inner) => faultsOf({ ...inner, path: [...issue.path, ...inner.path] }, settings));
  }
  if (issue.code !== 'unrecognized_keys') {
    return [`${nameOf(issue.path)}: ${issue.message}, got ${shown(valueAt(settings, issue.path))}`];
  }
  return issue.keys.map((key) => `${nameOf([...issue.path, key])}: expected no such field`);
}

function valueAt(settings: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce((value: unknown, key) => (value as Readonly<Record<PropertyKey, unknown>>)[key], settings);
}

/** A wrong value on one line, cut where it is long. */
function shown(value: unknown): string {
  const text = value === undefined ? 'nothing' : inspect(value, { breakLength: Number.POSITIVE_INFINITY });
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

/** A field's name as an operator writes it: `retryDelaysSeconds[1]`, `database.secretArn`. */
function nameOf(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '');
}

/** Every value that is not an object, by the name of its field. */
function* leaves(value: unknown, path: readonly PropertyKey[] = []): Generator<readonly [string, unknown]> {
  if (typeof value !== 'object' || value === null) {
    if (value !== undefined) yield [nameOf(path), value];
    return;
  }
  for (const [key, inner] of Object.entries(value))
    yield* leaves(inner, [...path, Array.isArray(value) ? Number(key) : key]);
}

/** Contradictions between fields. */
function contradictions(values: ReadonlyMap<string, unknown>): readonly string[] {
  return [
    ...(moreThan(values, 'database.minCapacity', 'database.maxCapacity')
      ? ['database.maxCapacity: expected no less than database.minCapacity']
      : []),
    ...keptTooShort(values),
    ...['proxy', 'auditor', 'reader', 'worker'].flatMap((role) => {
      const [secret, key] = [`database.${role}SecretArn`, `database.${role}SecretKeyArn`];
      return values.has(key) && !values.has(secret) ? [`${key}: expected ${secret} beside it`] : [];
    }),
    ...(moreThan(values, 'firewall.exportRequestsPerFiveMinutes', 'firewall.requestsPerFiveMinutes')
      ? ['firewall.exportRequestsPerFiveMinutes: expected no more than firewall.requestsPerFiveMinutes']
      : []),
    ...['proxy', 'dataOut'].flatMap((api) => outsideZone(values, `domains.${api}`)),
    ...repeated(values, /^domains\.\w+\.name$/, 'another name than'),
    ...(values.has('archiveVersioning') && values.has('archiveBucket.bucketName')
      ? ['archiveVersioning: expected no such field beside archiveBucket']
      : []),
    ...withoutDirectAccess(values),
    ...repeated(values, /secretArn$/i, 'another secret than'),
    ...repeated(values, /rchiveBuckets?(\[\d+\])?\.bucketName$/, 'another bucket than'),
    ...elsewhere(values),
  ];
}

/** Rows say what the outbox has, and which files a message is for. So they must be kept for longer than both. */
function keptTooShort(values: ReadonlyMap<string, unknown>): readonly string[] {
  const [kept, staged] = [values.get('auditRetentionDays'), values.get('outboxExpiryDays')];
  const isTooShort = typeof kept === 'number' && typeof staged === 'number' && kept < staged + 30;
  return isTooShort ? ['auditRetentionDays: expected at least 30 more than outboxExpiryDays'] : [];
}

function moreThan(values: ReadonlyMap<string, unknown>, field: string, other: string): boolean {
  const [value, limit] = [values.get(field), values.get(other)];
  return typeof value === 'number' && typeof limit === 'number' && value > limit;
}

/** A name that its zone cannot hold. */
function outsideZone(values: ReadonlyMap<string, unknown>, domain: string): readonly string[] {
  const [name, zone] = [values.get(`${domain}.name`), values.get(`${domain}.hostedZone.name`)];
  if (typeof name !== 'string' || typeof zone !== 'string') return [];
  if (name === zone || name.endsWith(`.${zone}`)) return [];
  return [`${domain}.name: expected a name in the zone ${domain}.hostedZone.name`];
}

/** Fields that are about direct access only. */
const ofDirectAccess = ['concurrency.directFiles', 'domains.dataOut', 'database.readerSecretArn'];

function withoutDirectAccess(values: ReadonlyMap<string, unknown>): readonly string[] {
  if (values.get('directAccess') !== 'off') return [];
  const names = [...values.keys()];
  return ofDirectAccess
    .filter((field) => names.some((name) => name === field || name.startsWith(`${field}.`)))
    .map((field) => `${field}: expected no such field while directAccess is off`);
}

/** Fields of one kind that have the value of an earlier one. */
function repeated(values: ReadonlyMap<string, unknown>, kind: RegExp, expected: string): readonly string[] {
  const first = new Map<unknown, string>();
  return [...values].flatMap(([name, value]) => {
    if (!kind.test(name)) return [];
    const earlier = first.get(value);
    if (earlier === undefined) first.set(value, name);
    return earlier === undefined ? [] : [`${name}: expected ${expected} ${earlier}`];
  });
}

/** ARNs of another region or account than `target`'s; without one, than the first ARN's. */
function elsewhere(values: ReadonlyMap<string, unknown>): readonly string[] {
  const arns = [...values].flatMap(([name, value]) => {
    const [, region, account] = /^arn:[^:]*:[^:]*:([^:]+):([^:]+):/.exec(String(value)) ?? [];
    return region === undefined ? [] : [{ name, region, account }];
  });
  const [region, account] = [values.get('target.region'), values.get('target.account')];
  const isGiven = typeof region === 'string' && typeof account === 'string';
  const place = isGiven ? { name: 'target', region, account } : arns[0];
  return arns
    .filter(({ region, account }) => region !== place?.region || account !== place?.account)
    .map(
      ({ name }) => `${name}: expected region ${place?.region} and account ${place?.account}, those of ${place?.name}`,
    );
}
