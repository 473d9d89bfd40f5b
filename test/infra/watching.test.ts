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
    for (const [name, { AlarmDescription }] of all.flatMap(({ alarms }) => Object.entries(alarms))) {
      expect(AlarmDescription).toMatch(new RegExp(`^.+\\. What to do: docs/runbook\\.md#${name.toLowerCase()}$`));
    }
    expect(titles.toSorted()).toEqual([...names, 'KeyDeletion'].sort());
  });

  test('the table at the top of the page has each article once', () => {
    const [, table = ''] = /## When an alarm fires\n([\s\S]+?)\n## /.exec(runbook) ?? [];
    const rows = table.split('\n').flatMap((line) => /^\| (\[.+?\)) \| (now|morning)/.exec(line)?.[1] ?? []);
    const named = rows.flatMap((row) => [...row.matchAll(/\[(\w+)\]/g)].map(([, name]) => name));
    expect(named.toSorted()).toEqual(titles.toSorted());
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
  test.each([
    [{ minCapacity: 0.5, maxCapacity: 64 }, 1333],
    [{ minCapacity: 1, maxCapacity: 64 }, 3333],
    // Aurora's table: 189, 823 and 3,360 connections.
    [{ minCapacity: 0, maxCapacity: 1 }, 126],
    [{ minCapacity: 0, maxCapacity: 4 }, 548],
    [{ minCapacity: 1, maxCapacity: 16 }, 2240],
  ])('say of a new database of %o that %i connections are too many', (capacities, threshold) => {
    const { alarms } = served({ database: { ...capacities, backupDays: 14 } });
    expect(alarms.DatabaseConnections.Threshold).toBe(threshold);
  });

  test('fire at their threshold, are quiet without data, and tell the topic when they begin and end', () => {
    for (const { alarms, all: ofType } of all) {
      const { AlarmTopicArn } = of('default').template.toJSON().Outputs;
      for (const alarm of Object.values(alarms)) {
        // CloudWatch takes at most ten metrics in an alarm.
        const metrics = (alarm.Metrics ?? []).filter(({ MetricStat }: Properties) => MetricStat);
        expect(metrics.length).toBeLessThanOrEqual(10);
        expect(alarm).toMatchObject({
          ...{ AlarmActions: [AlarmTopicArn.Value], OKActions: [AlarmTopicArn.Value] },
          ...{ ComparisonOperator: 'GreaterThanOrEqualToThreshold', TreatMissingData: 'notBreaching' },
        });
      }
      // The fields that the patterns of the filters name.
      for (const { AccessLogSetting } of ofType('AWS::ApiGateway::Stage')) {
        const fields = { status: '$context.status', gatewayResponse: '$context.error.responseType' };
        expect(JSON.parse(AccessLogSetting.Format)).toMatchObject(fields);
      }
    }
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

  test('is found by rules of which the alarm counts each message that does not arrive', () => {
    for (const { template, alarms } of all) {
      const rules = Object.entries<Properties>(template.findResources('AWS::Events::Rule'));
      const telling = rules.filter(([, { Properties }]) => messagesOf(Properties).length > 0).map(([id]) => id);
      const counted = alarms.KeyDeletionUndelivered.Metrics.flatMap(({ MetricStat }: Properties) =>
        MetricStat ? MetricStat.Metric.Dimensions.map(({ Value }: Properties) => Value.Ref) : [],
      );
      expect(counted.sort()).toEqual(telling.sort());
    }
    expect(rules(of('manyKeys'))).toHaveLength(4);
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
});

describe('the dashboard', () => {
  const rowsOf = (template: ReturnType<typeof served>): readonly Properties[][] => {
    const [{ DashboardBody }, ...others] = template.all('AWS::CloudWatch::Dashboard');
    expect(others).toEqual([]);
    const { widgets } = JSON.parse(typeof DashboardBody === 'string' ? DashboardBody : show(DashboardBody));
    return widgets.flatMap(({ properties: { metrics: rows = [] } }: Properties) => rows);
  };
  const searches = (template: ReturnType<typeof served>): string[] =>
    rowsOf(template).flatMap((row) => row.flatMap((part) => part.expression ?? []));

  test('shows functions, queues and APIs that the templates have', () => {
    for (const template of all) {
      const ids = [template.stored, template.template].flatMap((one) => Object.keys(one.toJSON().Resources));
      const names = template.all('AWS::ApiGateway::RestApi').map(({ Name }) => Name);
      const known = [...ids.map((id) => id.replace(/[0-9A-F]{8}.*$/, '')), ...names];
      // A metric is given as namespace, name, then dimensions in turn.
      const shown = rowsOf(template).flatMap((row) =>
        row.flatMap((part, at) => (/^(FunctionName|QueueName|ApiName)$/.test(part) ? [row[at + 1]] : [])),
      );
      expect(shown.length).toBeGreaterThan(60);
      expect(shown.filter((name) => !known.includes(name))).toEqual([]);
    }
  });

  test('shows every metric of the functions, and each breakdown by a search', () => {
    const found = searches(of('default')).map(
      (text) => /MetricName="(\w+)" deployment="DataOutService"/.exec(text)?.[1],
    );
    expect([...new Set(found)].sort()).toEqual(Object.keys(breakdowns).sort());
    for (const search of searches(of('default'))) {
      expect(search).toMatch(/^SEARCH\('\{DataOut,service,deployment,(reason|state|stage)\} .+', 'Sum'\)$/);
    }
    const names = [...rowsOf(of('default')).map(([, name]) => name), ...found];
    expect(Object.values(metrics).filter((name) => !names.includes(name))).toEqual([]);
  });
});

test('the number of time series is bounded, and the runbook says by how much', () => {
  const values = Object.values(breakdowns).map((one) => one.values.length + 1);
  const series = Object.values(metrics).length + values.reduce((sum, count) => sum + count, 0);
  expect(series).toBeGreaterThan(100);
  expect(series).toBeLessThanOrEqual(200);
  expect(readFileSync(join(root, 'docs/runbook.md'), 'utf8')).toContain('at most 200 time series ($60)');
});
