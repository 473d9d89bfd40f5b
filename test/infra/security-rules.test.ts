import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Validations } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { afterAll, describe, expect, test } from 'vitest';
import { settings } from '../../bin/settings.ts';
import { securityPacks } from '../../lib/infra/security-packs.ts';
import { addStacks } from '../../lib/infra/stacks.ts';
import { acknowledgements, findings } from '../helpers/security-findings.ts';
import { variants } from '../helpers/settings.ts';

const root = join(import.meta.dirname, '../..');
const { context } = JSON.parse(readFileSync(join(root, 'cdk.json'), 'utf8'));
const outdir = mkdtempSync(join(tmpdir(), 'data-out-'));
/** An app with this repository's feature flags that bundles nothing. */
const app = () => new App({ outdir, context: { ...context, 'aws:cdk:bundling-stacks': [] } });
afterAll(() => rmSync(outdir, { recursive: true }));

const checked = Object.entries(variants).map(([name, change]) => {
  const made = app();
  const { storage, service } = addStacks(made, { ...settings, ...change });
  const templates = [storage, service].map((stack) => Template.fromStack(stack));
  return { name, templates, accepted: acknowledgements(made), found: findings(made) };
});

describe.each(checked)('with $name', ({ templates, found }) => {
  test('the security rules find nothing that has no reason', () => {
    const open = found.filter(({ isAccepted }) => !isAccepted).map(({ rule, path }) => `${rule} at ${path}`);
    expect(open).toEqual([]);
  });

  test('functions are invoked by the APIs, by queues and by schedules, as the reasons say', () => {
    const ofType = (type: string) =>
      templates.flatMap((each) => Object.values(each.findResources(type)).map(({ Properties }) => Properties));
    const callers = new Set(ofType('AWS::Lambda::Permission').map(({ Principal }) => Principal));
    expect([...callers].sort()).toEqual(['apigateway.amazonaws.com', 'events.amazonaws.com']);
    expect(ofType('AWS::Events::Rule').filter((rule) => rule.EventPattern || !rule.ScheduleExpression)).toEqual([]);
    const sources = ofType('AWS::Lambda::EventSourceMapping').map((mapping) => JSON.stringify(mapping.EventSourceArn));
    expect(sources.filter((source) => !/Queue/.test(source))).toEqual([]);
  });
});

test('every exception is for a finding', () => {
  const used = new Set(
    checked.flatMap(({ found }) => found.flatMap(({ rule, acceptedAt }) => acceptedAt.map((at) => `${rule} at ${at}`))),
  );
  const stale = checked
    .flatMap(({ accepted }) => accepted.map(({ rule, path }) => `${rule} at ${path}`))
    .filter((each) => !used.has(each));
  expect([...new Set(stale)]).toEqual([]);
});

test('the rules are in force where the stacks are deployed from, and find what is wrong', () => {
  expect(readFileSync(join(root, 'bin/app.ts'), 'utf8')).toContain('addPlugins(...securityPacks(app))');
  const careless = app();
  Validations.of(careless).addPlugins(...securityPacks(careless));
  new Bucket(addStacks(careless, settings).service, 'Careless');
  expect(() => careless.synth()).toThrow();
});
