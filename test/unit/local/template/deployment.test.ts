import { describe, expect, it } from 'vitest';
import { deploy } from '../../../../lib/local/template/deployment.ts';
import type { Template } from '../../../../lib/local/template/template.ts';

const addresses = { queueUrl: (name: string) => `http://local/0/${name}`, apiUrl: (id: string) => `http://api/${id}` };

describe('resources', () => {
  // As CloudFormation does: the longer part is cut, and of two long ones about half of the name is left for each.
  it.each([
    ['CdkStack', 'FunctionsStageFileRoleEE185FC3', 'CdkStack-FunctionsStageFileRoleEE185FC3'],
    [
      'amplify-amplifyvitereacttemplate-main',
      'lakeformation511FAEAF',
      'amplify-amplifyvitereacttemp-lakeformation511FAEAF',
    ],
  ])('of stack %s and id %s have a name of both', (name, id, readable) => {
    const template: Template = {
      Resources: { [id]: { Type: 'AWS::IAM::Role' } },
      Outputs: { X: { Value: { Ref: id } } },
    };
    const { X: given } = deploy([{ name, template, region: undefined, assets: new Map() }], addresses).outputs();
    expect(String(given).replace(/-[0-9a-f]{8}$/, '')).toBe(readable);
  });
});
