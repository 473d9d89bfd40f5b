import type { Permission } from '../iam/policy.ts';
import { accountId } from '../template/names.ts';
import { type Resource, record } from '../template/template.ts';

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
