import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Stack, Validations } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Bucket, CfnBucket } from 'aws-cdk-lib/aws-s3';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { settings } from '../../bin/settings.ts';
import { securityPacks } from '../../lib/infra/security/packs.ts';
import { addStacks } from '../../lib/infra/stacks.ts';
import { templateApp } from '../../lib/infra/templates.ts';
import { acknowledgements, findings } from '../helpers/security-findings.ts';
import { show } from '../helpers/template.ts';
import { stacksOfVariants } from '../helpers/variants.ts';

const outdir = mkdtempSync(join(tmpdir(), 'data-out-'));
afterAll(() => rmSync(outdir, { recursive: true }));

// Here alone, the CDK validates the templates, those of all settings: a finding throws.
vi.stubEnv('CDK_VALIDATION', 'true');
const checked = stacksOfVariants(outdir).map(({ name, app, stacks }) => {
  const templates = stacks.map((stack) => Template.fromStack(stack));
  return { name, templates, accepted: acknowledgements(app), found: findings(app) };
});

describe.each(checked)('with settings: $name', ({ templates, found }) => {
  test('the security rules find nothing that has no reason', () => {
    const open = found.filter(({ isAccepted }) => !isAccepted).map(({ rule, path }) => `${rule} at ${path}`);
    expect(open).toEqual([]);
  });

  test('functions are invoked by the APIs, queues and schedules, as the reasons say', () => {
    const ofType = (type: string) =>
      templates.flatMap((each) => Object.values(each.findResources(type)).map(({ Properties }) => Properties));
    const callers = new Set(ofType('AWS::Lambda::Permission').map(({ Principal }) => Principal));
    expect([...callers].sort()).toEqual(['apigateway.amazonaws.com', 'events.amazonaws.com']);
    const byEvents = ofType('AWS::Events::Rule').filter((rule) => rule.EventPattern || !rule.ScheduleExpression);
    const called = byEvents.flatMap(({ Targets }) => Targets.map(({ Arn }: { Arn: unknown }) => show(Arn)));
    expect(new Set(called)).toEqual(new Set(['AlarmsTopic']));
    const sources = ofType('AWS::Lambda::EventSourceMapping').map((mapping) => JSON.stringify(mapping.EventSourceArn));
    expect(sources.filter((source) => !/Queue/.test(source))).toEqual([]);
  });
});

test('the CDK validates the templates of these tests', () => {
  const stack = new Stack(templateApp({ outdir: join(outdir, 'unknown') }));
  new CfnBucket(stack, 'Bucket').addPropertyOverride('Unknown', true);
  expect(() => Template.fromStack(stack)).toThrow('ERROR Unknown: Additional properties are not allowed');
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
  const app = readFileSync(join(import.meta.dirname, '../../bin/app.ts'), 'utf8');
  expect(app).toContain('addPlugins(...securityPacks(app))');
  const careless = templateApp({ outdir: join(outdir, 'careless') });
  Validations.of(careless).addPlugins(...securityPacks(careless));
  new Bucket(addStacks(careless, settings).service, 'Careless');
  expect(() => careless.synth()).toThrow(
    /DataOutService\/Careless\/.*\s+Acknowledge with 'AwsSolutions::AwsSolutions-S10'/,
  );
});
