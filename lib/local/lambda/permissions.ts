import { UnsupportedTemplateError } from '../errors.ts';
import { glob } from '../iam/conditions.ts';
import type { Permission } from '../iam/policy.ts';
import type { Deployment } from '../template/deployment.ts';
import { accountId } from '../template/names.ts';
import { optionalText, type Resource, record, text, whereOf } from '../template/template.ts';

/** Properties of a function's permission that are evaluated here. */
const known = ['Action', 'FunctionName', 'Principal', 'SourceArn', 'SourceAccount'];

/**
 * Whether a permission of the template lets an AWS service invoke a function.
 *
 * @param call.source ARN of the route, authorizer, rule or other thing in whose name the service calls
 * @throws UnsupportedTemplateError for a permission with another condition, or for a principal that is not a service
 */
export function mayInvoke(
  deployment: Deployment,
  call: { readonly service: string; readonly functionArn: string; readonly source: string },
): boolean {
  return deployment
    .resources('AWS::Lambda::Permission')
    .filter((permission) => permission.property('FunctionName') === call.functionArn)
    .some((permission) => {
      const principal = text(permission, 'Principal');
      const foreign = permission.propertyNames.find((name) => !known.includes(name));
      if (foreign !== undefined || !principal.endsWith('.amazonaws.com')) {
        const cause = `a permission with ${foreign ?? `the principal ${principal}`} cannot be evaluated locally`;
        throw new UnsupportedTemplateError(whereOf(permission), cause);
      }
      const source = optionalText(permission, 'SourceArn');
      const account = optionalText(permission, 'SourceAccount');
      return (
        glob(text(permission, 'Action'), 'i').test('lambda:InvokeFunction') &&
        principal === call.service &&
        (source === undefined || glob(source).test(call.source)) &&
        (account === undefined || account === accountId)
      );
    });
}

/**
 * What Lambda itself does in the name of a function's role: it writes the log into the group that the template names, and the
 * traces if they are on.
 */
export function platformPermissions(definition: Resource, region: string): readonly Permission[] {
  const { LogGroup: group } = record(definition.property('LoggingConfig'));
  const stream = `arn:aws:logs:${region}:${accountId}:log-group:${String(group)}:log-stream:local`;
  const logs = ['CreateLogStream', 'PutLogEvents'].map((action) => ({ action: `logs:${action}`, resource: stream }));
  const traces = ['PutTraceSegments', 'PutTelemetryRecords'].map((action) => ({
    action: `xray:${action}`,
    resource: '*',
  }));
  const { Mode: mode } = record(definition.property('TracingConfig'));
  return [...(group === undefined ? [] : logs), ...(mode === 'Active' ? traces : [])];
}
