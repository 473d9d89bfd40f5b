import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { afterAll, describe, expect, test } from 'vitest';
import { settings } from '../../bin/settings.ts';
import type { Settings } from '../../lib/infra/settings.ts';
import { addStacks } from '../../lib/infra/stacks.ts';
import { account, existing } from '../helpers/settings.ts';

const { context } = JSON.parse(readFileSync(join(import.meta.dirname, '../../cdk.json'), 'utf8'));
const outdir = mkdtempSync(join(tmpdir(), 'data-out-'));
afterAll(() => rmSync(outdir, { recursive: true }));

/** The templates of the repository's settings with a change. */
function templates(change: Partial<Settings>) {
  const app = new App({ outdir, context: { ...context, 'aws:cdk:bundling-stacks': [] } });
  const { storage, service } = addStacks(app, { ...settings, ...change });
  return { stored: Template.fromStack(storage), served: Template.fromStack(service) };
}
type Templates = ReturnType<typeof templates>;

const propertiesOf = (template: Template, type: string) =>
  Object.values(template.findResources(type)).map(({ Properties }) => Properties);
const idsOf = (template: Template, type: string) => Object.keys(template.findResources(type));

describe('direct access', () => {
  const on = templates({});
  const off = templates({ directAccess: 'off' });
  const functions = ({ served }: Templates) =>
    idsOf(served, 'AWS::Lambda::Function').map((id) => id.replace(/^Functions|Function[0-9A-F]{8}$/g, ''));

  test('is on unless the operator says otherwise', () => {
    expect(templates({ directAccess: 'on' })).toEqual(on);
  });

  test('that is off has no function, no API, no alarm and no output of its own', () => {
    const gone = functions(on).filter((name) => !functions(off).includes(name));
    expect(gone.sort()).toEqual([
      'AuthorizeVisa',
      'DataOutOpenApiDataOutOpenApi',
      'DatasetFiles',
      'Datasets',
      'DescribeFile',
      'DirectFile',
      'Drs',
      'ServiceInfo',
    ]);
    expect(propertiesOf(off.served, 'AWS::ApiGateway::RestApi').map(({ Name }) => Name)).toEqual([
      'DataOutService-Proxy',
    ]);
    const alarms = propertiesOf(off.served, 'AWS::CloudWatch::Alarm').map(({ AlarmName }) => AlarmName);
    expect(alarms.filter((name) => /Direct|DataOut(?!Service-)/.test(name.replace('DataOutService-', '')))).toEqual([]);
    expect(Object.keys(off.served.toJSON().Outputs)).not.toContain('DataOutUrl');
    expect(Object.keys(off.served.toJSON().Outputs)).toContain('ProxyUrl');
  });

  test('that is off leaves the archive keys to the export alone, and no right to write below direct/', () => {
    const mayUse = (what: RegExp) =>
      propertiesOf(off.served, 'AWS::IAM::Policy')
        .filter(({ PolicyDocument }) => what.test(JSON.stringify(PolicyDocument)))
        .map(({ PolicyName }) => PolicyName.match(/Functions([A-Za-z]+)Role/)?.[1]);
    expect(mayUse(/"OutputName":"\w+ArchiveKeysSecret/)).toEqual(['StageFile']);
    expect(mayUse(/"OutputName":"\w+ArchiveKeysKey/)).toEqual(['StageFile']);
    // Short-lived containers from the time before: one of a deprecated dataset is still found.
    expect(mayUse(/\/direct\/\*/)).toEqual(['Withdraw']);
    const writing = propertiesOf(off.served, 'AWS::IAM::Policy').flatMap(({ PolicyDocument }) =>
      PolicyDocument.Statement.filter(({ Action }: { Action: string | string[] }) =>
        [Action].flat().includes('s3:PutObject'),
      ),
    );
    expect(writing.length).toBeGreaterThan(0);
    for (const statement of writing) expect(JSON.stringify(statement)).not.toContain('direct/');
  });

  test('that is off has no database role: its secret and key are not made, its password is taken away', () => {
    const secrets = ({ stored }: Templates) => idsOf(stored, 'AWS::SecretsManager::Secret');
    expect(secrets(on).filter((id) => !secrets(off).includes(id))).toEqual([
      expect.stringMatching(/^CatalogueReaderSecret/),
    ]);
    expect(idsOf(off.stored, 'AWS::KMS::Key').filter((id) => id.includes('Reader'))).toEqual([]);
    const variables = (templates: Templates) =>
      propertiesOf(templates.served, 'AWS::Lambda::Function').find(({ Description }) =>
        /^Brings the catalogue/.test(Description),
      )?.Environment.Variables;
    expect(variables(off)).toMatchObject({ DATABASE_CLOSED_ROLE: 'data_out_reader' });
    expect(variables(off)).not.toHaveProperty('DATABASE_READER_SECRET_ARN');
    expect(variables(on)).not.toHaveProperty('DATABASE_CLOSED_ROLE');
  });

  const readerSecretArn = `arn:aws:secretsmanager:eu-north-1:${account}:secret:reader-AbCdEf`;
  const domain = { name: 'direct.example.org', certificateArn: `arn:aws:acm:eu-north-1:${account}:certificate/c` };
  test.each([
    ['concurrency.directFiles', { concurrency: existing.concurrency }],
    ['domains.dataOut', { domains: { dataOut: domain } }],
    ['database.readerSecretArn', { database: { ...existing.database, readerSecretArn } }],
  ])('that is off is refused with %s', (field, change) => {
    expect(() => templates({ ...change, directAccess: 'off' })).toThrow(
      `${field}: expected no such field while directAccess is off`,
    );
    expect(() => templates(change)).not.toThrow();
  });
});
