import type { Caller } from './request.ts';
import { each, type Row } from './row.ts';

const basic = (...pairs: readonly string[]) => pairs.map((pair) => `authorization: Basic base64(${pair})`);
const passports = (...given: readonly unknown[]) => JSON.stringify({ passports: given });

const administrator: readonly Row[] = [
  ...each(401, 'authorization:', ...basic('{admin}:wrong')),
  ['authorization: Basic base64({withoutRole}:{withoutRolePassword})', 403],
];
const reader = each(401, 'authorization:', 'authorization: Bearer a.b.c');

/** Requests with wrong credentials, for each operation of a caller. */
export const credentialRows: Readonly<Record<Caller, readonly Row[]>> = {
  administrator,
  researcher: [
    ...each(
      401,
      'authorization: | x-ga4gh-visa:',
      'x-ga4gh-visa:',
      'x-ga4gh-visa: {expired}',
      'x-ga4gh-visa: {forged}',
    ),
    ...each(401, 'x-ga4gh-visa: a b', 'authorization: | # {noPassword}', ...basic('stranger:x', '{user}:x')),
    ['x-ga4gh-visa: {visa} | x-ga4gh-visa: {visa}', 400],
    ['authorization: Basic {nothing} | authorization: Basic base64({user}:{userPassword})', 400],
  ],
  reader,
  passport: [
    ['# no passport', 401, passports()],
    ['# not a passport', 401, passports('a.b.c')],
    ['# an expired visa', 401, passports('{expired}')],
    ['# a number as a passport', 400, passports(7)],
    ['# passports that are not a list', 400, '{"passports": "x"}'],
    ['# eleven passports', 400, passports(...Array(11).fill('a.b.c'))],
    ['# half a document', 400, '{"passports"'],
  ],
  anyone: [],
};

/** Each kind of wrong credentials, on two operations alone: API Gateway asks the same authorizers for the others. */
export const wholeCredentials: Readonly<Record<string, readonly Row[]>> = {
  'delivery POST /export/{archive_kind}': [
    ...administrator,
    ...each(
      401,
      ...basic('{admin}:', '{admin}:{adminPassword}x', 'stranger:{adminPassword}', 'admin', ':{adminPassword}'),
    ),
    ...each(401, ...basic('{admin}\0:{adminPassword}', '{adminInCapitals}:{adminPassword}', '{user}:{userPassword}')),
    ...each(401, 'authorization: {nothing}', 'authorization: Basic', 'authorization: Basic !!!'),
    ...each(
      401,
      'authorization: Basic {admin}:{adminPassword}',
      'authorization: Bearer base64({admin}:{adminPassword})',
    ),
    ...each(401, Array(2).fill('authorization: Basic base64({admin}:{adminPassword})').join(' | ')),
    ['authorization: Basic ! | # and a broken body', 401, '{'],
  ],
  'direct GET /metadata/datasets': [
    ...reader,
    ...each(401, 'authorization: Bearer', 'authorization: Basic base64({user}:{userPassword})'),
    ...each(401, 'authorization: Bearer {forged}', 'authorization: Bearer {expired}'),
    ...each(
      401,
      'authorization: Bearer {visa} | authorization: Bearer {visa}',
      'authorization: | x-ga4gh-visa: {visa}',
    ),
    ['authorization: bEARER {visa}', 200],
  ],
};
