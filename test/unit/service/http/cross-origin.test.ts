import { expect, test } from 'vitest';
import { refuseCrossOrigin } from '../../../../lib/service/http/origins.ts';

const own = 'https://api.example.org';
const check = (method: string, headers: Readonly<Record<string, readonly string[]>>) => () =>
  refuseCrossOrigin({ method, headers: new Map(Object.entries(headers)) }, own);

test.each([
  ['a program', {}],
  ['the own page', { origin: [own], 'sec-fetch-site': ['same-origin'] }],
  ['the own page in a browser without fetch metadata', { origin: [own] }],
  ['the own page, the name in large letters', { origin: ['https://API.example.org'] }],
  ['the user, without a page', { 'sec-fetch-site': ['none'] }],
])('%s may change something', (_, headers) => {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) expect(check(method, headers)).not.toThrow();
});

test.each([
  ['another name', { origin: ['https://elsewhere.example'] }],
  ['a part of the own name', { origin: ['https://example.org'] }],
  ['a name that begins with the own', { origin: [`${own}.elsewhere.example`] }],
  ['a sandbox', { origin: ['null'] }],
  ['two origins, the own first', { origin: [own, 'https://elsewhere.example'] }],
  ['another site', { 'sec-fetch-site': ['cross-site'] }],
  ['another origin of the same site', { origin: [own], 'sec-fetch-site': ['same-site'] }],
  ['two values, the good one first', { 'sec-fetch-site': ['same-origin', 'cross-site'] }],
  ['fetch metadata of the future', { 'sec-fetch-site': ['same-planet'] }],
  [
    'another name, with good fetch metadata',
    { origin: ['https://elsewhere.example'], 'sec-fetch-site': ['same-origin'] },
  ],
])('a page of %s may not, with any method that is not safe', (_, headers) => {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'QUERY']) {
    expect(check(method, headers)).toThrow(expect.objectContaining({ code: 'foreign_origin' }));
  }
  for (const method of ['GET', 'HEAD', 'OPTIONS']) expect(check(method, headers)).not.toThrow();
});
