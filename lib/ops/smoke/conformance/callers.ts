import { basicAuthorization } from '../../../client/api/connection.ts';
import { NotApplicable } from '../check.ts';
import type { ApiName, Run } from '../run.ts';
import type { Caller, Change, Row } from './row.ts';

export const json = { 'content-type': 'application/json' };
const hour = 3_600_000;

/** What the right request of a caller has. */
export function credentialsOf(caller: Caller, run: Run): Change {
  if (caller === 'administrator') return { headers: run.asAdministrator };
  if (caller === 'researcher') return { headers: run.asResearcher };
  if (caller === 'reader') return { headers: run.asReader };
  return caller === 'passport' ? passports(run.visa) : {};
}

export function passports(...given: readonly unknown[]): Change {
  return { headers: json, body: JSON.stringify({ passports: given }) };
}

/** A visa of somebody else. @throws NotApplicable without a test issuer */
export async function signed(run: Run, datasetId: string, age = 0): Promise<string> {
  if (!run.issueVisa) throw new NotApplicable('only a test issuer signs such a visa');
  return await run.issueVisa(`${run.ids.username}-other`, datasetId, new Date(Date.now() - age));
}

const expired = (run: Run) => signed(run, run.ids.datasetId, 2 * hour);
const forged = ({ visa }: Run) => `${visa.slice(0, -4)}AAAA`;
const authorization = (value: string | readonly string[]): Change => ({ headers: { authorization: value } });
const encoded = (text: string) => authorization(`Basic ${Buffer.from(text).toString('base64')}`);

/** Where API Gateway asks the same authorizer, these are enough for all operations but one. */
const administrator: readonly Row[] = [
  ['no credentials', authorization([]), 401],
  ['a wrong password', ({ access: { admin } }) => encoded(`${admin.username}:wrong`), 401],
  [
    'a user without the role ADMIN',
    ({ access: { withoutRole } }) => {
      if (!withoutRole) throw new NotApplicable('no user lacks the role');
      return authorization(basicAuthorization(withoutRole));
    },
    403,
  ],
];
const everyAdministrator: readonly Row[] = [
  ...administrator,
  ['an empty header', authorization(''), 401],
  ['no password', ({ access: { admin } }) => encoded(`${admin.username}:`), 401],
  ['the password and more', ({ access: { admin } }) => encoded(`${admin.username}:${admin.password}x`), 401],
  ['an unknown user', ({ access: { admin } }) => encoded(`stranger:${admin.password}`), 401],
  ['the name in capitals', ({ access: { admin } }) => encoded(`${admin.username.toUpperCase()}:${admin.password}`), 401],
  ['no colon', encoded('admin'), 401],
  ['no name', ({ access: { admin } }) => encoded(`:${admin.password}`), 401],
  ['a NUL before the colon', ({ access: { admin } }) => encoded(`${admin.username}\0:${admin.password}`), 401],
  ['what is not base64', authorization('Basic !!!'), 401],
  ['the scheme alone', authorization('Basic'), 401],
  ['clear text', ({ access: { admin } }) => authorization(`Basic ${admin.username}:${admin.password}`), 401],
  ['another scheme', (run) => authorization(run.asAdministrator.authorization.replace('Basic', 'Bearer')), 401],
  ['credentials twice', (run) => authorization(Array(2).fill(run.asAdministrator.authorization)), 401],
  ['a researcher’s password', (run) => authorization(run.asResearcher.authorization), 401],
  ['wrong credentials and a broken body', { ...authorization('Basic !'), body: '{' }, 401],
];

const outboxVisa = (value: string | readonly string[]): Change => ({ headers: { 'x-ga4gh-visa': value } });
const researcher: readonly Row[] = [
  ['nothing', { headers: { authorization: [], 'x-ga4gh-visa': [] } }, 401],
  ['a password alone', outboxVisa([]), 401],
  [
    'a visa alone',
    ({ expected }) => {
      if (!expected.needsPassword) throw new NotApplicable('the password may be left out');
      return authorization([]);
    },
    401,
  ],
  ['an unknown user', encoded('stranger:x'), 401],
  ['a wrong password', ({ access: { archiveUser } }) => encoded(`${archiveUser.username}:x`), 401],
  ['an expired visa', async (run) => outboxVisa(await expired(run)), 401],
  ['a forged visa', (run) => outboxVisa(forged(run)), 401],
  ['what is not a token', outboxVisa('a b'), 401],
  ['a visa twice', (run) => outboxVisa([run.visa, run.visa]), 400],
  ['a password twice', (run) => authorization(Array(2).fill(run.asResearcher.authorization)), 400],
];

const reader: readonly Row[] = [
  ['no visa', authorization([]), 401],
  ['what is not a token', authorization('Bearer a.b.c'), 401],
];
const everyReader: readonly Row[] = [
  ...reader,
  ['another scheme', (run) => authorization(run.asResearcher.authorization), 401],
  ['no token', authorization('Bearer'), 401],
  ['a forged visa', (run) => authorization(`Bearer ${forged(run)}`), 401],
  ['an expired visa', async (run) => authorization(`Bearer ${await expired(run)}`), 401],
  ['a visa twice', (run) => authorization(Array(2).fill(`Bearer ${run.visa}`)), 401],
  ['a visa in another header', (run) => ({ headers: { authorization: [], 'x-ga4gh-visa': run.visa } }), 401],
  ['the scheme in other letters', (run) => authorization(`bEARER ${run.visa}`), 200],
];

const passport: readonly Row[] = [
  ['no passport', passports(), 401],
  ['what is not a passport', passports('a.b.c'), 401],
  ['an expired visa', async (run) => passports(await expired(run)), 401],
  ['a number as a passport', passports(7), 400],
  ['passports that are not a list', { body: '{"passports": "x"}' }, 400],
  ['eleven passports', passports(...Array(11).fill('a.b.c')), 400],
  ['half a document', { body: '{"passports"' }, 400],
];

/** @param isWhole whether the rows are of the one operation that shows each kind of wrong credentials */
export function credentialRows(caller: Caller, isWhole: boolean): readonly Row[] {
  if (caller === 'administrator') return isWhole ? everyAdministrator : administrator;
  if (caller === 'reader') return isWhole ? everyReader : reader;
  return { researcher, passport, anyone: [] }[caller];
}

/** Requests of a web page (docs/api.md, `foreign_origin`), for operations that are not safe (RFC 9110 § 9.2.1). */
export function pageRows(api: ApiName, right: Row[2]): readonly Row[] {
  const foreign = { status: 403, code: 'foreign_origin' };
  return [
    ['a page of another origin', { headers: { origin: 'http://localhost:1' } }, foreign],
    ['a page of another host', { headers: { origin: 'https://127.0.0.1' } }, foreign],
    ['a page of another site', { headers: { 'sec-fetch-site': 'cross-site' } }, foreign],
    ['a page of the same site, but another origin', { headers: { 'sec-fetch-site': 'same-site' } }, foreign],
    ['a page of nowhere', { headers: { 'sec-fetch-site': '' } }, foreign],
    ['a form of another site', { headers: { 'sec-fetch-site': 'cross-site', 'content-type': 'text/plain' } }, foreign],
    ['its own page', (run) => ({ headers: { origin: new URL(run.urlOf(api)).origin } }), right],
    ['a user without a page', { headers: { 'sec-fetch-site': 'none' } }, right],
  ];
}
