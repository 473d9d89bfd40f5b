import { inspect } from 'node:util';
import { toDotPath } from 'zod/v4/core';
import { operatorFiles } from '../contract/synth.ts';
import { existingDatabase, newDatabase, type Settings, settingsSchema } from './settings.ts';

/** Settings that cannot work. The message names every field that is wrong. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/** Check every field, and report all mistakes at once. @throws SettingsError */
export function checkSettings(settings: Settings): void {
  // One of its two kinds, so that an error is about the fields of the kind that is meant.
  const database = Object.hasOwn(settings.database ?? {}, 'clusterArn') ? existingDatabase : newDatabase;
  const { error } = settingsSchema.extend({ database }).safeParse(settings, { reportInput: true });
  const faults = [
    ...(error?.issues ?? []).map((issue) => {
      const got = issue.code === 'unrecognized_keys' ? '' : `, got ${shown(issue.input)}`;
      return [toDotPath(issue.path), `${issue.message}${got}`].filter(Boolean).join(': ');
    }),
    ...contradictions(new Map(leaves(settings))),
  ];
  if (faults.length > 0) throw new SettingsError(`${operatorFiles.settings} cannot work:\n  ${faults.join('\n  ')}`);
}

/** A wrong value on one line, cut where it is long. */
function shown(value: unknown): string {
  const text = value === undefined ? 'nothing' : inspect(value, { breakLength: Number.POSITIVE_INFINITY });
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

/** Every value that is not an object, by the name of its field. */
function* leaves(value: unknown, path: PropertyKey[] = []): Generator<readonly [string, unknown]> {
  if (typeof value !== 'object' || value === null) {
    if (value !== undefined) yield [toDotPath(path), value];
    return;
  }
  for (const [key, inner] of Object.entries(value))
    yield* leaves(inner, [...path, Array.isArray(value) ? Number(key) : key]);
}

/** Contradictions between fields. */
function contradictions(values: ReadonlyMap<string, unknown>): readonly string[] {
  const [least, most] = [values.get('database.minCapacity'), values.get('database.maxCapacity')];
  const isBelow = typeof least === 'number' && typeof most === 'number' && most < least;
  return [
    ...(isBelow ? ['database.maxCapacity: expected no less than database.minCapacity'] : []),
    ...keptTooShort(values),
    ...withoutDirectAccess(values),
    ...repeated(values, /^domains\.\w+\.name$/, 'another name than'),
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

/** Fields that are about the direct API only. */
const ofDirectAccess = ['concurrency.directFiles', 'compatibility', 'domains.dataOut', 'htsget'];

function withoutDirectAccess(values: ReadonlyMap<string, unknown>): readonly string[] {
  if (values.get('directAccess') !== 'off') return [];
  const names = [...values.keys()];
  return ofDirectAccess
    .filter((field) => names.some((name) => new RegExp(`^${field}([.[]|$)`).test(name)))
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
