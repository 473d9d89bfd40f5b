import { describe, expect, test } from 'vitest';
import { settings } from '../../../../bin/settings.ts';
import type { Stack } from '../../../../lib/local/template/assembly.ts';
import { deploy } from '../../../../lib/local/template/deployment.ts';
import type { Template } from '../../../../lib/local/template/template.ts';
import { existing } from '../../../helpers/settings.ts';
import { templatesOf } from '../../../helpers/synthesized.ts';

/** What docs/operations.md#from-new-to-existing says of outputs that another stack reads. */
const addresses = { queueUrl: (name: string) => `http://local/0/${name}`, apiUrl: (id: string) => `http://api/${id}` };
const stack = (name: string, template: Template): Stack => ({ name, template, region: undefined, assets: new Map() });

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
