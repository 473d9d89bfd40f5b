import { describe, expect, test } from 'vitest';
import { settings } from '../../../../bin/settings.ts';
import type { Stack } from '../../../../lib/local/template/assembly.ts';
import { deploy } from '../../../../lib/local/template/deployment.ts';
import type { Template } from '../../../../lib/local/template/template.ts';
import { updateSteps } from '../../../../lib/local/template/update.ts';
import { existing } from '../../../helpers/settings.ts';
import { templatesOf } from '../../../helpers/synthesized.ts';

/** What docs/operations.md#from-new-to-existing says of outputs that another stack reads. */
const addresses = { queueUrl: (name: string) => `http://local/0/${name}`, apiUrl: (id: string) => `http://api/${id}` };
const stack = (name: string, template: Template): Stack => ({ name, template, region: undefined, assets: new Map() });
const stepsOf = (before: readonly Stack[], after: readonly Stack[]) =>
  [...updateSteps(before, after)].map(({ action, stackName, logicalId }) => `${action} ${stackName}/${logicalId}`);

describe('an output whose value changes', () => {
  const bucket = (name: string) => ({ It: { Type: 'AWS::S3::Bucket', Properties: { BucketName: name } } });
  const storage = (name: string, output = 'Name') =>
    stack('Storage', { Resources: bucket(name), Outputs: { [output]: { Value: { Ref: 'It' } } } });
  const service = (output = 'Name') =>
    stack('Service', {
      Resources: {
        Reader: {
          Type: 'AWS::Lambda::Function',
          Properties: { Environment: { 'Fn::GetStackOutput': { StackName: 'Storage', OutputName: output } } },
        },
      },
    });

  test('does not update its reader, whose text is the same', () => {
    expect(stepsOf([storage('old'), service()], [storage('new'), service()])).toEqual(['put Storage/It']);
  });

  test('does so under another name', () => {
    const after = [storage('new', 'NewName'), service('NewName')];
    expect(stepsOf([storage('old'), service()], after)).toEqual(['put Storage/It', 'put Service/Reader']);
    expect(deploy(after, addresses).resources('AWS::Lambda::Function')[0]?.property('Environment')).toBe('new');
  });
});

describe('an output that goes', () => {
  const of = (change: Parameters<typeof templatesOf>[0]) => {
    const { stored, served } = templatesOf(change);
    return {
      storage: stack('DataOutStorage', stored.toJSON()),
      service: stack('DataOutService', served.toJSON()),
    };
  };
  const made = of(settings);
  const named = of({
    ...settings,
    archiveBucket: existing.archiveBucket as NonNullable<typeof settings.archiveBucket>,
  });
  /** Read every property of the service stack, as the way back from a failed update would. */
  const readAll = (stacks: readonly Stack[]) => () => {
    for (const resource of deploy(stacks, addresses).resourcesOf('DataOutService')) {
      for (const name of resource.propertyNames) resource.property(name);
    }
  };

  test('is missing to the service stack when the storage stack is updated first', () => {
    expect(readAll([made.storage, made.service])).not.toThrow();
    expect(readAll([named.storage, made.service])).toThrow(/no stack DataOutStorage with an output/);
  });

  test('is missing to no one when the service stack is updated first, and the storage stack after it', () => {
    expect(readAll([made.storage, named.service])).not.toThrow();
    expect(readAll([named.storage, named.service])).not.toThrow();
  });
});
