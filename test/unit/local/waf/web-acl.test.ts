import { describe, expect, test } from 'vitest';
import { deploy } from '../../../../lib/local/template/deployment.ts';
import { readWebAcls } from '../../../../lib/local/waf/web-acl.ts';

const addresses = { queueUrl: (name: string) => `http://local/0/${name}`, apiUrl: (id: string) => `http://api/${id}` };

/** The web ACL of the stages `first` and `second`, at a clock that the test moves. */
function aclsOf(properties: Readonly<Record<string, unknown>>) {
  const association = (ResourceArn: string) => ({
    Type: 'AWS::WAFv2::WebACLAssociation',
    Properties: { ResourceArn, WebACLArn: { 'Fn::GetAtt': ['Acl', 'Arn'] } },
  });
  const template = {
    Resources: {
      Acl: { Type: 'AWS::WAFv2::WebACL', Properties: { DefaultAction: { Allow: {} }, ...properties } },
      First: association('first'),
      Second: association('second'),
    },
  };
  const clock = { seconds: 0 };
  const deployment = deploy([{ name: 'S', template, region: undefined, assets: new Map() }], addresses);
  const acls = readWebAcls(deployment, () => new Date(clock.seconds * 1000));
  return { clock, first: acls.get('first')!, second: acls.get('second')!, other: acls.get('other') };
}

const rule = (Limit: number, more: object = {}) => ({
  Priority: 0,
  Action: { Block: {} },
  Statement: { RateBasedStatement: { Limit, AggregateKeyType: 'IP', ...more } },
});
const scope = {
  ScopeDownStatement: {
    RegexMatchStatement: {
      FieldToMatch: { UriPath: {} },
      RegexString: '(^|/)export(/|$)',
      TextTransformations: [
        { Priority: 1, Type: 'NORMALIZE_PATH' },
        { Priority: 0, Type: 'URL_DECODE' },
      ],
    },
  },
};
const request = (path = '/v1/files', sourceIp = '192.0.2.1') => ({ path, sourceIp });

describe('a rule on rates', () => {
  test('takes as many requests as its limit from each address, over all stages, within five minutes', () => {
    const { clock, first, second, other } = aclsOf({ Rules: [rule(2)] });
    expect(other).toBeUndefined();
    expect([first.admits(request()), second.admits(request()), first.admits(request())]).toEqual([true, true, false]);
    expect(first.admits(request('/v1/files', '192.0.2.2'))).toBe(true);
    clock.seconds = 299;
    expect(second.admits(request())).toBe(false);
    // Refused requests also count: the one of second 299 and this one.
    clock.seconds = 301;
    expect(first.admits(request())).toBe(true);
    clock.seconds = 302;
    expect(first.admits(request())).toBe(false);
  });

  test('looks back as far as it says', () => {
    const { clock, first } = aclsOf({ Rules: [rule(1, { EvaluationWindowSec: 60 })] });
    expect([first.admits(request()), first.admits(request())]).toEqual([true, false]);
    clock.seconds = 61;
    expect(first.admits(request())).toBe(true);
  });

  test.each([
    ['/v1/export/fega', true],
    ['/export', true],
    ['/v1/%65xport/fega', true],
    ['/v1//export/fega', true],
    ['/v1/files/../export/fega', true],
    ['/v1/files', false],
    ['/v1/stream/export.c4gh', false],
  ])('with a scope counts %s: %s', (path, isCounted) => {
    const { first } = aclsOf({ Rules: [rule(1, scope)] });
    expect([first.admits(request(path)), first.admits(request(path))]).toEqual([true, !isCounted]);
  });
});

test.each([
  [{ DefaultAction: { Block: {} } }],
  [{ Rules: [{ ...rule(1), Action: { Count: {} } }] }],
  [{ Rules: [rule(1, { AggregateKeyType: 'FORWARDED_IP' })] }],
  [{ Rules: [rule(1, { CustomKeys: [{ Header: { Name: 'authorization' } }] })] }],
  [{ Rules: [{ ...rule(1), Action: { Block: { CustomResponse: { ResponseCode: 503 } } } }] }],
  [{ Rules: [rule(1, { ScopeDownStatement: { ...scope.ScopeDownStatement, NotStatement: {} } })] }],
  [{ Rules: [{ Priority: 0, Statement: { ManagedRuleGroupStatement: {} } }] }],
  [{ Rules: [rule(1, { ScopeDownStatement: { GeoMatchStatement: {} } })] }],
])('a template with %j is refused: it would behave differently when deployed', (properties) => {
  expect(() => aclsOf(properties)).toThrow('cannot be run locally');
});
