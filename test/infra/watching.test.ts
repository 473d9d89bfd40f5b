import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { settings } from '../../bin/settings.ts';
import { breakdowns, metrics } from '../../lib/contract/metrics.ts';
import type { Settings } from '../../lib/infra/settings.ts';
import { account } from '../helpers/settings.ts';
import { templatesOf } from '../helpers/synthesized.ts';
import { show } from '../helpers/template.ts';
import { variants } from '../helpers/variants.ts';

const root = join(import.meta.dirname, '../..');

// biome-ignore lint/suspicious/noExplicitAny: CloudFormation has no types, and a wrong path fails the assertion.
type Properties = any;

/** The service stack under some settings. */
function served(change: Partial<Settings> = {}) {
  const { served: template, stored } = templatesOf({ ...settings, ...change });
  const all = (type: string): readonly Properties[] =>
    Object.values(template.findResources(type)).map((resource) => resource.Properties);
  const resources: Readonly<Record<string, Properties>> = template.toJSON().Resources;
  return { template, stored, all, resources, alarms: alarmsOf(all('AWS::CloudWatch::Alarm')) };
}

function alarmsOf(alarms: readonly Properties[]): Readonly<Record<string, Properties>> {
  return Object.fromEntries(alarms.map((alarm) => [alarm.AlarmName.replace(/^DataOutService(-test)?-/, ''), alarm]));
}

/** More keys than one rule has room for. */
const manyKeys = { receiptKeys: 20 };
const made = new Map(Object.entries({ ...variants, manyKeys }).map(([name, change]) => [name, served(change)]));
const all = [...made.values()];

function of(name: string): ReturnType<typeof served> {
  const found = made.get(name);
  if (!found) throw new Error(`no variant ${name}`);
  return found;
}

describe('alarms and articles', () => {
  const runbook = readFileSync(join(root, 'docs/runbook.md'), 'utf8');
  /** Several headings in a row share an article. */
  const titles = [...runbook.matchAll(/^## (\w+)$/gm)].map(([, title]) => title);

  test('each alarm of all settings has an article of its name, and each article an alarm or a message', () => {
    const messages = of('default').all('AWS::Events::Rule').flatMap(messagesOf);
    const linked = messages.map((text) => /docs\/runbook\.md#(\w+)/.exec(text)?.[1]);
    expect(new Set(linked)).toEqual(new Set(['keydeletion']));
    const names = new Set(all.flatMap(({ alarms }) => Object.keys(alarms)));
    expect(titles.toSorted()).toEqual([...names, 'KeyDeletion'].sort());
  });

  test('each alarm links to its article', () => {
    for (const { alarms } of all) {
      for (const [name, { AlarmDescription }] of Object.entries(alarms)) {
        expect(AlarmDescription).toMatch(new RegExp(`^.+\\. What to do: docs/runbook\\.md#${name.toLowerCase()}$`));
      }
    }
  });

  test('the table at the top of the page has each article once', () => {
    const [, table = ''] = /## When an alarm fires\n([\s\S]+?)\n## /.exec(runbook) ?? [];
    const rows = table.split('\n').flatMap((line) => /^\| (\[.+?\)) \| (now|morning)/.exec(line)?.[1] ?? []);
    const named = rows.flatMap((row) => [...row.matchAll(/\[(\w+)\]/g)].map(([, name]) => name));
    expect(named.toSorted()).toEqual(titles.toSorted());
  });

  test('CloudWatch takes at most ten metrics in an alarm', () => {
    for (const { alarms } of all) {
      for (const { Metrics = [] } of Object.values(alarms)) {
        expect(Metrics.filter(({ MetricStat }: Properties) => MetricStat).length).toBeLessThanOrEqual(10);
      }
    }
  });
});

test.each(['default', 'switched-on', 'switched-off'])('%s: an alarm and the dashboard watch every function', (name) => {
  const { alarms, all: ofType, resources } = of(name);
  const functions = Object.keys(resources).filter(
    (id) => resources[id].Type === 'AWS::Lambda::Function' && /Function[0-9A-F]{8}$/.test(id),
  );
  const watched = Object.entries(alarms).filter(([alarm]) => alarm.endsWith('FunctionsErrors'));
  const [dashboard] = ofType('AWS::CloudWatch::Dashboard');
  expect(functions.length).toBeGreaterThan(14);
  for (const id of functions) {
    expect(JSON.stringify(watched), id).toContain(`"${id}"`);
    expect(JSON.stringify(dashboard), id).toContain(`"${id}"`);
  }
});

describe('the alarms', () => {
  const limits = ({ Threshold, EvaluationPeriods, Period, Metrics }: Properties) => {
    const seconds = Period ?? Metrics.find(({ MetricStat }: Properties) => MetricStat).MetricStat.Period;
    return [Threshold, EvaluationPeriods, seconds];
  };

  test('on the database know a cluster by its name, whether the storage stack made it or not', () => {
    const identifier = ({ alarms }: ReturnType<typeof served>, name: string) =>
      alarms[name].Dimensions.map(({ Name, Value }: Properties) => [Name, show(Value)]);
    const own = of('default');
    const existingOne = of('existing');
    for (const name of ['DatabaseCapacity', 'DatabaseConnections']) {
      expect(identifier(own, name)).toEqual([['DBClusterIdentifier', 'CatalogueCluster']]);
    }
    expect(identifier(existingOne, 'DatabaseCapacity')).toEqual([['DBClusterIdentifier', 'lega']]);
    expect(existingOne.alarms.DatabaseConnections).toBeUndefined();
    expect(limits(own.alarms.DatabaseCapacity)).toEqual([90, 6, 300]);
    // 8 capacity units take 1,669 connections.
    expect(limits(own.alarms.DatabaseConnections)).toEqual([1112, 3, 300]);
  });

  test.each([
    [{ minCapacity: 0.5, maxCapacity: 64 }, 1333],
    [{ minCapacity: 1, maxCapacity: 64 }, 3333],
    // Aurora's table: 189, 823 and 3,360 connections.
    [{ minCapacity: 0, maxCapacity: 1 }, 126],
    [{ minCapacity: 0, maxCapacity: 4 }, 548],
    [{ minCapacity: 1, maxCapacity: 16 }, 2240],
  ])('a new database of %o: %i connections are too many', (capacities, threshold) => {
    const { alarms } = served({ database: { ...capacities, backupDays: 14 } });
    expect(alarms.DatabaseConnections.Threshold).toBe(threshold);
  });

  test('on rejected exports compare them with all of at least ten', () => {
    const { Metrics, ...alarm } = of('default').alarms.ExportsRejected;
    expect([alarm.Threshold, alarm.EvaluationPeriods]).toEqual([50, 1]);
    const expressions = Metrics.flatMap(({ Expression }: Properties) => Expression ?? []);
    expect(expressions).toEqual([
      'IF(FILL(total, 0) >= 10, 100 * FILL(part, 0) / total, 0)',
      'FILL(accepted, 0) + FILL(refused, 0)',
    ]);
    const names = Object.fromEntries(
      Metrics.flatMap(({ Id, MetricStat }: Properties) => (MetricStat ? [[Id, MetricStat.Metric.MetricName]] : [])),
    );
    expect(names).toEqual({ part: 'ExportRejected', accepted: 'ExportAccepted', refused: 'ExportRejected' });
  });

  test.each(['Proxy', 'DataOut'])('on refused and throttled requests of %s count lines of its access log', (name) => {
    const own = of('default');
    const filters = own
      .all('AWS::Logs::MetricFilter')
      .filter(({ LogGroupName }) => show(LogGroupName) === `${name}AccessLog`);
    const counted = filters.map(({ FilterPattern, MetricTransformations: [{ MetricName, MetricNamespace }] }) => [
      `${MetricNamespace} ${MetricName}`,
      FilterPattern,
    ]);
    expect(Object.fromEntries(counted)).toEqual({
      [`DataOut DataOutService-${name}-ClientErrors`]:
        '{ $.status = "4*" && $.status != "429" && $.gatewayResponse != "MISSING_AUTHENTICATION_TOKEN" }',
      [`DataOut DataOutService-${name}-Throttled`]: '{ $.status = "429" }',
    });
    // The fields that the patterns name.
    const stages = own.all('AWS::ApiGateway::Stage').map(({ AccessLogSetting }) => JSON.parse(AccessLogSetting.Format));
    for (const format of stages) {
      expect(format).toMatchObject({ status: '$context.status', gatewayResponse: '$context.error.responseType' });
    }
    expect(limits(own.alarms[`${name}Throttled`])).toEqual([100, 3, 300]);
    expect(own.alarms[`${name}Throttled`].MetricName).toBe(`DataOutService-${name}-Throttled`);
    expect(limits(own.alarms[`${name}ClientErrors`])).toEqual([75, 1, 900]);
    expect(JSON.stringify(own.alarms[`${name}ClientErrors`].Metrics)).toContain('IF(FILL(total, 0) >= 100,');
  });

  test('on latency look at the routes that answer at once, by route', () => {
    const routes = (name: string) =>
      of('default')
        .alarms[name].Metrics.flatMap(({ MetricStat }: Properties) => {
          if (!MetricStat) return [];
          expect(MetricStat.Stat).toBe('p95');
          const dimensions: Properties[] = MetricStat.Metric.Dimensions;
          const of = Object.fromEntries(dimensions.map(({ Name, Value }) => [Name, Value]));
          return [`${of.ApiName} ${of.Method} ${of.Resource}`];
        })
        .sort();
    expect(routes('ProxyLatency')).toEqual([
      'DataOutService-Proxy GET /.well-known/data-out',
      'DataOutService-Proxy GET /.well-known/jwks.json',
      'DataOutService-Proxy GET /export/fega',
      'DataOutService-Proxy GET /export/fega/{requestId}',
      'DataOutService-Proxy GET /openapi.json',
      'DataOutService-Proxy GET /stream/{file}',
      'DataOutService-Proxy POST /export/fega',
    ]);
    expect(routes('DataOutLatency')).not.toContain('DataOutService-DataOut GET /files/{fileId}');
    expect(routes('DataOutLatency')).not.toContain('DataOutService-DataOut GET /metadata/datasets');
    expect(routes('DataOutLatency')).toContain('DataOutService-DataOut GET /ga4gh/drs/v1/objects/{object_id}');
    expect(limits(of('default').alarms.DataOutLatency)).toEqual([5000, 3, 300]);
  });
});

function messagesOf({ Targets = [] }: Properties): string[] {
  return Targets.flatMap(({ InputTransformer }: Properties) => InputTransformer?.InputTemplate ?? []);
}

describe('a key that is disabled or deleted', () => {
  const rules = (template: ReturnType<typeof served>) =>
    template.all('AWS::Events::Rule').filter((rule) => messagesOf(rule).length > 0);
  const calls = (template: ReturnType<typeof served>) =>
    rules(template).filter(({ EventPattern }) => EventPattern.detail);

  test('is told to the topic of the alarms, with the call and the key, and nothing of a person', () => {
    const own = of('default');
    const [call, ...others] = calls(own);
    expect(others).toEqual([]);
    expect(call.EventPattern).toMatchObject({
      source: ['aws.kms'],
      'detail-type': ['AWS API Call via CloudTrail'],
      detail: { eventSource: ['kms.amazonaws.com'], eventName: ['ScheduleKeyDeletion', 'DisableKey'] },
    });
    const [{ Arn, InputTransformer }] = call.Targets;
    expect(show(Arn)).toBe('AlarmsTopic');
    expect(Object.values(InputTransformer.InputPathsMap).sort()).toEqual([
      '$.detail.eventID',
      '$.detail.eventName',
      '$.detail.resources[0].ARN',
      '$.time',
    ]);
    const gone = rules(own).filter(({ EventPattern }) => EventPattern['detail-type'].includes('KMS CMK Deletion'));
    expect(gone.map(({ EventPattern }) => EventPattern.resources.slice(0, -1))).toEqual([
      call.EventPattern.detail.resources.ARN,
    ]);
  });

  test('is any key that the stacks make, or that the settings name', () => {
    for (const template of all) {
      const watched = calls(template).flatMap(({ EventPattern }) => EventPattern.detail.resources.ARN);
      const keys = [template.stored, template.template].flatMap((one) =>
        Object.keys(one.findResources('AWS::KMS::Key')),
      );
      const short = keys.map((id) => id.replace(/[0-9A-F]{8}$/, '').replace(/(ReceiptKeysKey)\d+/, '$1'));
      const own = watched.map(show).filter((arn) => !arn.startsWith('arn:'));
      expect(own.map((id) => id.replace(/(ReceiptKeysKey)\d+/, '$1')).sort()).toEqual(short.sort());
      expect(keys.length).toBeGreaterThan(2);
    }
    const named = JSON.stringify(calls(of('existing')));
    expect(named).toContain(`arn:aws:kms:eu-north-1:${account}:key/bodies`);
  });

  test('no event pattern is longer than EventBridge takes, whatever the number of keys', () => {
    const arn = `arn:aws:kms:ap-southeast-1:${account}:key/mrk-1234abcd12ab34cd56ef1234567890ab`;
    const all = calls(of('manyKeys'));
    expect(all.flatMap(({ EventPattern }) => EventPattern.detail.resources.ARN)).toHaveLength(32);
    for (const { EventPattern } of all) {
      const { detail } = EventPattern;
      const resources = { ARN: detail.resources.ARN.map(() => arn) };
      expect(JSON.stringify({ ...EventPattern, detail: { ...detail, resources } }).length).toBeLessThan(2048);
    }
  });

  test('EventBridge may publish, in one statement without a condition', () => {
    for (const template of all) {
      const [{ PolicyDocument }] = template.all('AWS::SNS::TopicPolicy');
      const allowed = PolicyDocument.Statement.filter(
        ({ Principal }: Properties) => Principal.Service === 'events.amazonaws.com',
      ).map(({ Sid: _, Resource, ...statement }: Properties) => ({ ...statement, Resource: show(Resource) }));
      const principal = { Service: 'events.amazonaws.com' };
      expect(allowed).toEqual([
        { Effect: 'Allow', Principal: principal, Action: 'sns:Publish', Resource: 'AlarmsTopic' },
      ]);
    }
  });

  test('a message that is not delivered sets off an alarm, whichever rule it came by', () => {
    for (const template of [of('default'), of('manyKeys')]) {
      const { Metrics, ...alarm } = template.alarms.KeyDeletionUndelivered;
      const watched = Metrics.flatMap(({ MetricStat }: Properties) => MetricStat?.Metric ?? []);
      const ids = rules(template).map(({ EventPattern }) => EventPattern);
      expect(watched).toHaveLength(ids.length);
      for (const { Namespace, MetricName, Dimensions } of watched) {
        expect([Namespace, MetricName, Dimensions[0].Name]).toEqual(['AWS/Events', 'FailedInvocations', 'RuleName']);
        expect(template.resources[Dimensions[0].Value.Ref]?.Type).toBe('AWS::Events::Rule');
      }
      // CloudWatch user guide, FILL: a filled point may be the newest one, so an alarm looks at several.
      expect([alarm.Threshold, alarm.EvaluationPeriods, alarm.DatapointsToAlarm]).toEqual([1, 3, 1]);
    }
  });

  test('the smoke test can send an event through the rule, and no function can', () => {
    const own = of('default');
    const [gone] = rules(own).filter(({ EventPattern }) => EventPattern['detail-type'].includes('KMS CMK Deletion'));
    expect(gone.EventPattern.source).toEqual(['aws.kms', 'data-out']);
    expect(gone.EventPattern['detail-type']).toEqual(['KMS CMK Deletion', 'Smoke Test']);
    expect(gone.EventPattern.resources.map(show)).toContain('AlarmsTopic');
    const granted = JSON.stringify(served({ events: 'on' }).all('AWS::IAM::Policy'));
    expect(granted).toContain('Export Accepted');
    expect(granted).not.toContain('Smoke Test');
  });
});

describe('the dashboard', () => {
  interface Shown {
    readonly namespace: string;
    readonly name: string;
    readonly dimensions: Readonly<Record<string, string>>;
  }

  const board = (template: ReturnType<typeof served>) => {
    const [{ DashboardName, DashboardBody }, ...others] = template.all('AWS::CloudWatch::Dashboard');
    expect(others).toEqual([]);
    const text: string = typeof DashboardBody === 'string' ? DashboardBody : show(DashboardBody);
    return { name: DashboardName, widgets: JSON.parse(text).widgets as Properties[] };
  };
  /** Without searches. A metric is given as namespace, name, then dimensions in turn, then how it is drawn. */
  const shown = (widgets: readonly Properties[]): Shown[] =>
    widgets.flatMap(({ properties: { metrics: rows = [] } }) =>
      rows.flatMap((row: unknown[]) => {
        const texts = row.filter((part) => typeof part === 'string');
        const [namespace, name, ...rest] = texts;
        if (namespace === undefined || name === undefined) return [];
        const dimensions = Object.fromEntries(
          Array.from({ length: rest.length / 2 }, (_, index) => rest.slice(2 * index, 2 * index + 2)),
        );
        return [{ namespace, name, dimensions }];
      }),
    );
  const searches = (widgets: readonly Properties[]): string[] =>
    widgets.flatMap(({ properties: { metrics: rows = [] } }) =>
      rows.flatMap((row: Properties[]) => row.flatMap((part) => part.expression ?? [])),
    );

  /** Metrics of AWS, as its services document them. */
  const ofAws: Readonly<Record<string, readonly string[]>> = {
    'AWS/SQS': ['ApproximateAgeOfOldestMessage', 'ApproximateNumberOfMessagesVisible'],
    'AWS/ApiGateway': ['Count', '4XXError', '5XXError', 'Latency'],
    'AWS/RDS': ['ServerlessDatabaseCapacity', 'ACUUtilization', 'DatabaseConnections'],
    'AWS/S3': ['BucketSizeBytes', 'NumberOfObjects'],
    'AWS/Lambda': ['Errors', 'ConcurrentExecutions', 'Throttles'],
  };

  test('has the name of its stack, and an address in the outputs', () => {
    const own = of('default');
    const { name, widgets } = board(own);
    expect(name).toBe('DataOutService');
    expect(show(own.template.toJSON().Outputs.DashboardUrl.Value)).toMatch(
      /^https:\/\/.+\.console\.aws\.amazon\.com\/cloudwatch\/home\?region=.+#dashboards\/dashboard\/DataOutService$/,
    );
    expect(widgets[0].properties.markdown).toMatch(/^# DataOutService: .+docs\/runbook\.md/s);
  });

  test('shows metrics that exist, of what the template has', () => {
    for (const template of all) {
      const { widgets } = board(template);
      const names = (type: string, nameOf: (properties: Properties) => unknown) =>
        template.all(type).map((properties) => show(nameOf(properties)));
      const ids = Object.keys(template.resources).map((id) => id.replace(/[0-9A-F]{8}.*$/, ''));
      const filters = template
        .all('AWS::Logs::MetricFilter')
        .flatMap(({ MetricTransformations }) => MetricTransformations.map(({ MetricName }: Properties) => MetricName));
      for (const { namespace, name, dimensions } of shown(widgets)) {
        if (namespace === 'DataOut') {
          expect([...Object.values(metrics), ...filters]).toContain(name);
          if (!filters.includes(name)) {
            expect(dimensions).toEqual({
              deployment: template.all('AWS::CloudWatch::Dashboard')[0].DashboardName,
              service: 'data-out',
            });
          }
          continue;
        }
        expect(ofAws[namespace]).toContain(name);
        if (dimensions.FunctionName) expect(ids).toContain(dimensions.FunctionName);
        if (dimensions.ApiName)
          expect(names('AWS::ApiGateway::RestApi', ({ Name }) => Name)).toContain(dimensions.ApiName);
        if (dimensions.QueueName) {
          const queues = ['ExportRequests', 'FileExports', 'SmallFileExports', 'Deliveries'];
          expect(queues.flatMap((queue) => [`${queue}Queue`, `${queue}DeadLettersQueue`])).toContain(
            dimensions.QueueName,
          );
        }
      }
    }
  });

  test('shows every metric of the functions, and each breakdown by a search', () => {
    const { widgets } = board(of('default'));
    const found = searches(widgets).map((text) => /MetricName="(\w+)" deployment="DataOutService"/.exec(text)?.[1]);
    expect([...new Set(found)].sort()).toEqual(Object.keys(breakdowns).sort());
    for (const search of searches(widgets)) {
      expect(search).toMatch(/^SEARCH\('\{DataOut,service,deployment,(reason|state|stage)\} .+', 'Sum'\)$/);
    }
    const names = [...shown(widgets).map(({ name }) => name), ...found];
    expect(Object.values(metrics).filter((name) => !names.includes(name))).toEqual([]);
    const seconds = shown(widgets).filter(({ name }) => name.startsWith('Seconds'));
    expect(seconds).toHaveLength(4);
  });
});

test('the number of time series is bounded, and the runbook says by how much', () => {
  const values = Object.values(breakdowns).map((one) => one.values.length + 1);
  const series = Object.values(metrics).length + values.reduce((sum, count) => sum + count, 0);
  expect(series).toBeGreaterThan(100);
  expect(series).toBeLessThanOrEqual(200);
  expect(readFileSync(join(root, 'docs/runbook.md'), 'utf8')).toContain('at most 200 time series ($60)');
});
