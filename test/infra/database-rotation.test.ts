import { describe, expect, test } from 'vitest';
import { settings } from '../../bin/settings.ts';
import { checkSettings, SettingsError } from '../../lib/infra/check-settings.ts';
import type { Settings } from '../../lib/infra/settings.ts';
import { existing } from '../helpers/settings.ts';
import { templatesOf } from '../helpers/synthesized.ts';

function templates(change: Partial<Settings>) {
  const { stored, served } = templatesOf({ ...settings, ...change });
  return { storage: stored, service: served };
}

const { databaseRotationDays: _, ...others } = settings;
const { storage, service } = templates({ databaseRotationDays: 30 });
const roles = ['Auditor', 'Proxy', 'Reader', 'Worker'];
/** The role of a secret, from what a template of the service stack says instead of its ARN. */
const roleOf = (value: unknown) =>
  /Catalogue(Auditor|Proxy|Reader|Worker)(?:Secret|Key)/.exec(JSON.stringify(value))?.[1];
const propertiesOf = (type: string) => Object.values(service.findResources(type)).map(({ Properties }) => Properties);

test('without the setting there is nothing of it', () => {
  const plain = templates({ ...others });
  const text = JSON.stringify([plain.storage.toJSON(), plain.service.toJSON()]);
  expect(text).not.toMatch(/Rotat(e|ion)(Schedule|DatabaseLogin|LambdaARN)|DatabaseRotation/);
});

describe('rotation of the secrets of the database roles', () => {
  const [rotate] = Object.entries(service.findResources('AWS::Lambda::Function')).filter(([id]) =>
    id.includes('RotateDatabaseLogin'),
  );
  const arn = { 'Fn::GetAtt': [rotate?.[0], 'Arn'] };

  test('is scheduled for each of them, and none is rotated by a deployment', () => {
    const schedules = propertiesOf('AWS::SecretsManager::RotationSchedule');
    expect(schedules.map(({ SecretId }) => roleOf(SecretId)).sort()).toEqual(roles);
    for (const schedule of schedules) {
      expect(schedule).toMatchObject({
        RotationLambdaARN: arn,
        RotationRules: { AutomaticallyAfterDays: 30 },
        RotateImmediatelyOnUpdate: false,
      });
    }
  });

  test('is called by Secrets Manager for these secrets of this account alone, and may be before it is scheduled', () => {
    const permissions = Object.entries(service.findResources('AWS::Lambda::Permission')).filter(
      ([, { Properties }]) => Properties.Principal === 'secretsmanager.amazonaws.com',
    );
    expect(permissions.map(([, { Properties }]) => roleOf(Properties.SourceArn)).sort()).toEqual(roles);
    for (const [id, { Properties }] of permissions) {
      expect(Properties).toMatchObject({ FunctionName: arn, SourceAccount: { Ref: 'AWS::AccountId' } });
      const schedules = Object.values(service.findResources('AWS::SecretsManager::RotationSchedule'));
      const schedule = schedules.find(
        ({ Properties: { SecretId } }) => roleOf(SecretId) === roleOf(Properties.SourceArn),
      );
      expect(schedule?.DependsOn).toContain(id);
    }
  });

  test('begins when the migration has made the roles', () => {
    const migration = Object.keys(service.findResources('Custom::Trigger')).find((id) => id.startsWith('Migration'));
    expect(rotate?.[1].DependsOn).toContain(migration);
  });

  test('is done by a function that writes these secrets, and reads them and the owner’s', () => {
    const policies = Object.entries(service.findResources('AWS::IAM::Policy'));
    const policy = policies.find(([id]) => id.includes('RotateDatabaseLogin'))?.[1].Properties.PolicyDocument;
    const statements: { Action: string | string[]; Resource: unknown; Condition?: unknown }[] = policy?.Statement ?? [];
    const granted = statements
      .flatMap(({ Action, Resource, Condition }) =>
        [Resource].flat().flatMap((resource) => [Action].flat().map((action) => ({ action, resource, Condition }))),
      )
      .filter(({ action }) => !/^(logs|xray):/.test(action));
    const on = (action: string) =>
      granted.filter((each) => each.action === action).map(({ resource }) => roleOf(resource) ?? 'owner');
    for (const action of ['DescribeSecret', 'PutSecretValue', 'UpdateSecretVersionStage']) {
      expect(on(`secretsmanager:${action}`).sort()).toEqual(roles);
    }
    expect(on('secretsmanager:GetSecretValue').sort()).toEqual([...roles, 'owner']);
    expect(on('kms:Decrypt').sort()).toEqual([...roles, 'owner']);
    expect(on('kms:GenerateDataKey').sort()).toEqual(roles);
    expect(new Set(granted.map(({ action }) => action))).toEqual(
      new Set([
        ...['kms:Decrypt', 'kms:GenerateDataKey'],
        ...['BeginTransaction', 'CommitTransaction', 'ExecuteStatement', 'RollbackTransaction'].map(
          (action) => `rds-data:${action}`,
        ),
        ...['DescribeSecret', 'GetSecretValue', 'PutSecretValue', 'UpdateSecretVersionStage'].map(
          (action) => `secretsmanager:${action}`,
        ),
      ]),
    );
    for (const { action, Condition } of granted.filter(({ action }) => action.startsWith('kms:'))) {
      expect([action, JSON.stringify(Condition)]).toEqual([action, expect.stringContaining('kms:ViaService')]);
    }
  });

  test('raises an alarm when it fails', () => {
    const watched = JSON.stringify(
      Object.entries(service.findResources('AWS::CloudWatch::Alarm')).filter(([id]) =>
        id.includes('WorkerFunctionsErrors'),
      ),
    );
    expect(watched).toContain(rotate?.[0]);
  });

  test('leaves the storage stack as it is, so that it can come and go with the service stack', () => {
    expect(storage.toJSON()).toEqual(templates({ ...others }).storage.toJSON());
  });

  test('leaves out a role that is missing', () => {
    const { service: without } = templates({ databaseRotationDays: 30, directAccess: 'off' });
    const schedules = Object.values(without.findResources('AWS::SecretsManager::RotationSchedule'));
    expect(schedules.map(({ Properties }) => roleOf(Properties.SecretId)).sort()).toEqual([
      'Auditor',
      'Proxy',
      'Worker',
    ]);
  });
});

test('the secrets of an existing cluster are not rotated: the setting is refused', () => {
  const both = () => checkSettings({ ...settings, ...existing, databaseRotationDays: 30 });
  expect(both).toThrow(SettingsError);
  expect(both).toThrow(/databaseRotationDays: expected none beside database\.clusterArn/);
});
