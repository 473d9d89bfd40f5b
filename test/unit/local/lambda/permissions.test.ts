import { expect, test } from 'vitest';
import { mayInvoke, platformPermissions } from '../../../../lib/local/lambda/permissions.ts';
import { deployed } from '../../../helpers/deployed.ts';

const functionArn = 'arn:aws:lambda:eu-north-1:000000000000:function:work';
const source = 'arn:aws:events:eu-north-1:000000000000:rule/hourly';
const good = { Action: 'lambda:InvokeFunction', FunctionName: functionArn, Principal: 'events.amazonaws.com' };
const admits = (properties: object) =>
  mayInvoke(deployed({ P: { Type: 'AWS::Lambda::Permission', Properties: { ...good, ...properties } } }), {
    service: 'events.amazonaws.com',
    functionArn,
    source,
  });

test.each([
  ['for any source', {}, true],
  ['for this source', { SourceArn: source }, true],
  [
    'for sources of this kind, of this account',
    { SourceArn: 'arn:aws:events:*:rule/*', SourceAccount: '000000000000' },
    true,
  ],
  ['for another source', { SourceArn: `${source}-2` }, false],
  ['for another account', { SourceAccount: '123456789012' }, false],
  ['for another service', { Principal: 'apigateway.amazonaws.com' }, false],
  ['for another action', { Action: 'lambda:GetFunction' }, false],
  ['for another function', { FunctionName: `${functionArn}-2` }, false],
])('a permission %s', (_, properties, expected) => {
  expect(admits(properties)).toBe(expected);
});

test.each([
  ['a condition that is not evaluated here', { PrincipalOrgID: 'o-1' }, 'PrincipalOrgID'],
  ['a principal that is not a service', { Principal: '123456789012' }, '123456789012'],
])('a permission with %s is refused', (_, properties, named) => {
  expect(() => admits(properties)).toThrow(named);
});

test('Lambda writes the log that the template names and the traces that it asks for, in the name of the role', () => {
  const permissions = (Properties: object) => {
    const [definition] = deployed({ F: { Type: 'AWS::Lambda::Function', Properties: { ...Properties } } }).resources(
      'AWS::Lambda::Function',
    );
    return platformPermissions(definition!, 'eu-north-1').map(({ action, resource }) => `${action} ${resource}`);
  };
  expect(permissions({})).toEqual([]);
  const stream = 'arn:aws:logs:eu-north-1:000000000000:log-group:mine:log-stream:local';
  expect(permissions({ LoggingConfig: { LogGroup: 'mine' }, TracingConfig: { Mode: 'Active' } })).toEqual([
    `logs:CreateLogStream ${stream}`,
    `logs:PutLogEvents ${stream}`,
    'xray:PutTraceSegments *',
    'xray:PutTelemetryRecords *',
  ]);
});
