import { basicAuthorization } from '../../../client/api/connection.ts';
import { NotApplicable } from '../check.ts';
import type { ApiName, Run } from '../run.ts';
import type { Answer, Caller, Change, Row } from './row.ts';

export const json = { 'content-type': 'application/json' };
const hour = 3_600_000;

/** What the right request of a caller has. */
export function credentialsOf(caller: Caller, run: Run): Change {
  const { asAdministrator, asResearcher, asReader, visa } = run;
  const headers = { administrator: asAdministrator, researcher: asResearcher, reader: asReader, anyone: {} };
  return caller === 'passport' ? passports(visa) : { headers: headers[caller] };
}

function passports(...given: readonly unknown[]): Change {
  return { headers: json, body: JSON.stringify({ passports: given }) };
}

/** A visa of somebody else. @throws NotApplicable without a test issuer */
async function signed(run: Run, datasetId: string, age = 0): Promise<string> {
  if (!run.issueVisa) throw new NotApplicable('only a test issuer signs such a visa');
  return await run.issueVisa(`${run.ids.username}-other`, datasetId, new Date(Date.now() - age));
}

const expired = (run: Run) => signed(run, run.ids.datasetId, 2 * hour);
const forged = ({ visa }: Run) => `${visa.slice(0, -4)}AAAA`;
const authorization = (value: string | readonly string[]): Change => ({ headers: { authorization: value } });

type Account = Run['access']['admin'];
const administratorOf = ({ access }: Run) => access.admin;
const filled = (template: string, { username, password }: Account) => template.replace('NAME', username).replace('SECRET', password);
/** Each is a wrong `user:password` in base64. */
const pairs = (accountOf: (run: Run) => Account, templates: readonly string[]): readonly Row[] =>
  templates.map((template) => [
    `the credentials ${JSON.stringify(template)}`,
    (run) => authorization(`Basic ${Buffer.from(filled(template, accountOf(run))).toString('base64')}`),
    401,
  ]);
/** Each is a wrong header. */
const values = (templates: readonly string[]): readonly Row[] =>
  templates.map((template) => [`Authorization: ${template}`, (run) => authorization(filled(template, administratorOf(run))), 401]);

const withoutRole = ({ access }: Run) => {
  if (!access.withoutRole) throw new NotApplicable('no user lacks the role');
  return authorization(basicAuthorization(access.withoutRole));
};
const administrator: readonly Row[] = [
  ['no credentials', authorization([]), 401],
  ...pairs(administratorOf, ['NAME:wrong']),
  ['a user without the role ADMIN', withoutRole, 403],
];
const everyAdministrator: readonly Row[] = [
  ...administrator,
  ...pairs(administratorOf, ['NAME:', 'NAME:SECRETx', 'stranger:SECRET', 'admin', ':SECRET', 'NAME\0:SECRET']),
  ...pairs(({ access: { admin } }) => ({ ...admin, username: admin.username.toUpperCase() }), ['NAME:SECRET']),
  ...values(['', 'Basic', 'Basic !!!', 'Basic NAME:SECRET']),
  ['another scheme', (run) => authorization(run.asAdministrator.authorization.replace('Basic', 'Bearer')), 401],
  ['credentials twice', (run) => authorization(Array(2).fill(run.asAdministrator.authorization)), 401],
  ['a researcher’s password', (run) => authorization(run.asResearcher.authorization), 401],
  ['wrong credentials and a broken body', { ...authorization('Basic !'), body: '{' }, 401],
];

const outboxVisa = (value: string | readonly string[]): Change => ({ headers: { 'x-ga4gh-visa': value } });
const visaAlone = ({ expected }: Run) => {
  if (!expected.needsPassword) throw new NotApplicable('the password may be left out');
  return authorization([]);
};
const researcher: readonly Row[] = [
  ['nothing', { headers: { authorization: [], 'x-ga4gh-visa': [] } }, 401],
  ['a password alone', outboxVisa([]), 401],
  ['a visa alone', visaAlone, 401],
  ...pairs(({ access }) => access.archiveUser, ['stranger:x', 'NAME:x']),
  ['an expired visa', async (run) => outboxVisa(await expired(run)), 401],
  ['a forged visa', (run) => outboxVisa(forged(run)), 401],
  ['what is not a token', outboxVisa('a b'), 401],
  ['a visa twice', (run) => outboxVisa([run.visa, run.visa]), 400],
  ['a password twice', (run) => authorization(Array(2).fill(run.asResearcher.authorization)), 400],
];

const reader: readonly Row[] = [['no visa', authorization([]), 401], ...values(['Bearer a.b.c'])];
const everyReader: readonly Row[] = [
  ...reader,
  ...values(['Bearer']),
  ['another scheme', (run) => authorization(run.asResearcher.authorization), 401],
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

/** @param isWhole whether each kind of wrong credentials is tried: where API Gateway asks the same authorizer, one operation is enough */
export function credentialRows(caller: Caller, isWhole: boolean): readonly Row[] {
  if (isWhole) return caller === 'administrator' ? everyAdministrator : everyReader;
  return { administrator, researcher, reader, passport, anyone: [] }[caller];
}

/** Names in a path that stand for a file or a dataset of direct access. */
const protectedNames = ['datasetId', 'fileId', 'object_id', 'id'];

/** Missing, not released and not granted are one and the same 403 of direct access. */
export function hiddenRows(operation: string, caller: Caller): readonly Row[] {
  const name = protectedNames.find((each) => operation.includes(`{${each}}`));
  if (name === undefined || caller === 'anyone') return [];
  const idOf = ({ ids, hidden }: Run) => (name === 'datasetId' ? ids.hiddenId : hidden?.fileId) ?? '';
  const answer = { status: 403, alike: 'forbidden' };
  const others = async (run: Run) => {
    const visa = await signed(run, run.ids.hiddenId);
    return caller === 'passport' ? passports(visa) : authorization(`Bearer ${visa}`);
  };
  return [
    ['what does not exist', { of: { [name]: 'EGAF404' } }, answer],
    ['an impossible id', { of: { [name]: 'x'.repeat(257) } }, answer],
    ['what is not released', (run) => ({ of: { [name]: encodeURIComponent(idOf(run)) } }), answer],
    ["another dataset's visa", others, answer],
  ];
}

/** Requests of a web page (docs/api.md, `foreign_origin`), for operations that are not safe (RFC 9110 § 9.2.1). */
export function pageRows(api: ApiName, right: number | Answer): readonly Row[] {
  const foreign: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    'another origin': { origin: 'http://localhost:1' },
    'another host': { origin: 'https://127.0.0.1' },
    'another site': { 'sec-fetch-site': 'cross-site' },
    'the same site, but another origin': { 'sec-fetch-site': 'same-site' },
    nowhere: { 'sec-fetch-site': '' },
    'another site, with a form': { 'sec-fetch-site': 'cross-site', 'content-type': 'text/plain' },
  };
  return [
    ...Object.entries(foreign).map(([name, headers]): Row => [`a page of ${name}`, { headers }, { status: 403, code: 'foreign_origin' }]),
    ['its own page', (run) => ({ headers: { origin: new URL(run.urlOf(api)).origin } }), right],
    ['a user without a page', { headers: { 'sec-fetch-site': 'none' } }, right],
  ];
}
