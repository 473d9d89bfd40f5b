import { describe, expect, test } from 'vitest';
import { DataOutError, invalidRequest } from '../../../../lib/errors.ts';
import { drsErrorReply, objectAuthorizations } from '../../../../lib/service/direct/drs.ts';
import { problemReply } from '../../../../lib/service/http/problem.ts';
import { parseTrustedIssuers } from '../../../../lib/visas/index.ts';
import { httpRequest } from '../../../helpers/http-request.ts';
import { makeTestIssuer } from '../../../helpers/issuer.ts';

test('OPTIONS names the issuers of visas, and all trusted issuers; the same for every id', async () => {
  const broker = await makeTestIssuer({ iss: 'https://broker.example.org', entry: { issues: ['passports'] } });
  const dac = await makeTestIssuer({ iss: 'https://dac.example.org', entry: { issues: ['visas'] } });
  const issuers = parseTrustedIssuers([broker.entry, dac.entry]);
  const authorizations = (id: string) =>
    JSON.parse(objectAuthorizations(httpRequest({ pathParameters: { object_id: id } }), issuers).body);
  expect(authorizations('EGAF404')).toEqual({
    drs_object_id: 'EGAF404',
    supported_types: ['BearerAuth', 'PassportAuth'],
    passport_auth_issuers: ['https://dac.example.org'],
    bearer_auth_issuers: ['https://broker.example.org', 'https://dac.example.org'],
  });
  for (const id of ['', '%00', 'x'.repeat(257)])
    expect(() => authorizations(id)).toThrow(expect.objectContaining({ code: 'not_found' }));
});

describe('an error', () => {
  test('has DRS’s members, and the code for programs', () => {
    const problem = problemReply(new DataOutError('forbidden', 'no'), 'r1', 'Bearer');
    const reply = drsErrorReply(problem);
    expect(reply).toMatchObject({ status: 403, headers: { 'Content-Type': 'application/json', 'X-Request-Id': 'r1' } });
    expect(JSON.parse(reply.body)).toEqual({ status_code: 403, msg: 'no', code: 'forbidden', requestId: 'r1' });
  });

  test('names every violation, and has a message even without details', () => {
    const violations = [{ field: 'passports', message: 'must be a list' }];
    const bad = drsErrorReply(problemReply(invalidRequest(violations), 'r1', 'Bearer'));
    expect(JSON.parse(bad.body)).toMatchObject({ status_code: 400, violations });
    const unforeseen = drsErrorReply(problemReply(new Error('secret'), 'r1', 'Bearer'));
    expect(JSON.parse(unforeseen.body)).toEqual({
      status_code: 500,
      msg: 'Internal Server Error',
      code: 'internal_error',
      requestId: 'r1',
    });
  });
});
