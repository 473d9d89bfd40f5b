import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { assembly } from '../helpers/assembly.ts';
import { archiveOf, previousAssembly } from '../helpers/previous-release.ts';
import type { Template } from '../helpers/template.ts';

/** What an upgrade of the previous release would replace or take out of a stack, by `cdk diff`, which needs no AWS for it. */
const root = join(import.meta.dirname, '../..');
type StackName = 'DataOutStorage' | 'DataOutService';

let folder: string;
let present: string;
let previous: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'data-out-diff-'));
  [present, previous] = [await assembly(), await previousAssembly()];
}, 180_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Changes of resources of a type, as `- Queue Id` for one that leaves the stack and `* Queue Id` for one that is replaced. */
function lossesOf(stack: StackName, types: RegExp, change: (template: Template) => void = () => {}): string[] {
  const template = JSON.parse(readFileSync(join(previous, `${stack}.template.json`), 'utf8')) as Template;
  change(template);
  const before = join(folder, `${stack}.json`);
  writeFileSync(before, JSON.stringify(template));
  const argv = ['diff', stack, '--exclusively', '--app', present, '--template', before, '--no-color', '--no-notices'];
  const cdk = join(root, 'node_modules/aws-cdk/bin/cdk');
  // The difference goes to standard error, or to standard output with --ci.
  const text = execFileSync(process.execPath, [cdk, ...argv, '--ci'], { cwd: root, encoding: 'utf8', stdio: 'pipe' });
  return text.split('\n').flatMap((line) => {
    const [, sign, type = '', rest = ''] = /^\[([-~])\] (AWS::\w+::\w+|Custom::\w+) (.*)/.exec(line) ?? [];
    if (sign === undefined || !types.test(type)) return [];
    const id = rest.split(' ').find((word) => template.Resources[word]) ?? rest;
    if (sign === '-') return [`- ${type.split('::')[2]} ${id}`];
    return / (may be )?replaced?\b/.test(rest) ? [`* ${type.split('::')[2]} ${id}`] : [];
  });
}

const any = /./;
/** What holds data, an address that people know, or a subscription. Functions, roles and deployments may come and go. */
const lasting = /^AWS::(SQS::Queue|ApiGateway::RestApi|SNS::Topic|KMS::Key|S3::Bucket)$/;

test('a clone without the history says what to do', () => {
  const unknown = '0123456789012345678901234567890123456789';
  expect(() => archiveOf(unknown)).toThrow(/does not have the commit 0123456789.* git fetch --unshallow/);
});

test('the storage stack keeps every resource as it is', () => {
  expect(lossesOf('DataOutStorage', any)).toEqual([]);
});

test('the service stack keeps its queues, the addresses of its APIs and the topic of its alarms', () => {
  expect(lossesOf('DataOutService', lasting)).toEqual([]);
});

test('the roles that policies of the storage stack name stay: it is updated first', () => {
  const named = /StageFile|SettleDelivery|DirectFile/;
  expect(lossesOf('DataOutService', /^AWS::IAM::Role$/).filter((loss) => named.test(loss))).toEqual([]);
});

describe('the comparison finds', () => {
  const rename = (template: Template, id: string, to: string) => {
    const resources = template.Resources as Record<string, Template['Resources'][string]>;
    resources[to] = resources[id] as Template['Resources'][string];
    delete resources[id];
  };
  const idOf = (template: Template, type: string) =>
    Object.entries(template.Resources).find(([, { Type }]) => Type === type)?.[0] ?? '';

  test('a bucket with another logical id', () => {
    const losses = lossesOf('DataOutStorage', any, (template) =>
      rename(template, idOf(template, 'AWS::S3::Bucket'), 'FormerBucket'),
    );
    expect(losses).toEqual(['- Bucket FormerBucket']);
  });

  test('a cluster with another name', () => {
    const losses = lossesOf('DataOutStorage', /^AWS::RDS::DBCluster$/, (template) => {
      template.Resources[idOf(template, 'AWS::RDS::DBCluster')]!.Properties.DBClusterIdentifier = 'former';
    });
    expect(losses).toEqual([expect.stringMatching(/^\* DBCluster /)]);
  });

  test('a queue with another name', () => {
    const losses = lossesOf('DataOutService', lasting, (template) => {
      template.Resources[idOf(template, 'AWS::SQS::Queue')]!.Properties.QueueName = 'Former';
    });
    expect(losses).toEqual([expect.stringMatching(/^\* Queue /)]);
  });
});
