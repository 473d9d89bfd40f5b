import { expect, test } from 'vitest';
import { platformPermissions } from '../../../../lib/local/lambda/permissions.ts';
import { deployed } from '../../../helpers/deployed.ts';

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
