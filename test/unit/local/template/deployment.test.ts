import { describe, expect, it } from 'vitest';
import { deploy } from '../../../../lib/local/template/deployment.ts';
import type { Template } from '../../../../lib/local/template/template.ts';

const addresses = { queueUrl: (name: string) => `http://local/0/${name}`, apiUrl: (id: string) => `http://api/${id}` };
const stack = (name: string, template: Template) => ({
  name,
  template,
  region: undefined,
  assets: new Map<string, string>(),
});
const outputsOf = (template: Template, ...others: Template[]) =>
  deploy(
    [...others, template].map((each, at) => stack(`S${at}`, each)),
    addresses,
  ).outputs();
const value = (Value: unknown, rest: Template = {}) => outputsOf({ ...rest, Outputs: { X: { Value } } }).X;

describe('intrinsic functions', () => {
  it.each([
    [{ 'Fn::Join': ['-', ['a', { Ref: 'AWS::Region' }]] }, 'a-eu-north-1'],
    [{ 'Fn::Sub': `assets-\${AWS::AccountId}` }, 'assets-000000000000'],
    [{ 'Fn::Select': [1, { 'Fn::Split': [':', 'a:b:c'] }] }, 'b'],
    [{ 'Fn::Select': ['0', ['a']] }, 'a'],
  ])('%j', (expression, expected) => {
    expect(value(expression)).toBe(expected);
  });

  describe('find the output of another stack', () => {
    const producing: Template = {
      Resources: { Jobs: { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'jobs' } } },
      Outputs: { Q: { Value: { 'Fn::GetAtt': ['Jobs', 'Arn'] } } },
    };
    const read = (argument: Readonly<Record<string, unknown>>) =>
      outputsOf({ Outputs: { X: { Value: { 'Fn::GetStackOutput': argument } } } }, producing).X;

    it('by its name', () => {
      expect(read({ StackName: 'S0', OutputName: 'Q' })).toBe('arn:aws:sqs:eu-north-1:000000000000:jobs');
    });

    it.each([
      [{ StackName: 'S0', OutputName: 'R' }, /no stack S0 with an output R/],
      [{ StackName: 'S0', OutputName: 'Q', Region: 'eu-west-1' }, /another region or account/],
    ])('but refuse %j', (argument, error) => {
      expect(() => read(argument)).toThrow(error);
    });
  });

  it.each([
    [{ Ref: 'Missing' }, /S0: there is no resource Missing/],
    [{ 'Fn::GetAtt': ['Missing', 'Arn'] }, /no resource Missing/],
    [{ 'Fn::ImportValue': 'x' }, /Fn::ImportValue is not supported/],
  ])('that cannot be resolved are an error: %j', (expression, message) => {
    expect(() => value(expression)).toThrow(message);
  });
});

describe('resources', () => {
  const one = (Type: string, Properties: Record<string, unknown> = {}) => ({
    Resources: { One: { Type, Properties } },
  });

  it('have names that are valid and always the same', () => {
    const name = value({ Ref: 'One' }, one('AWS::S3::Bucket'));
    expect(name).toMatch(/^[a-z0-9-]{3,63}$/);
    expect(value({ Ref: 'One' }, one('AWS::S3::Bucket'))).toBe(name);
    expect(value({ Ref: 'One' }, one('AWS::S3::Bucket', { BucketName: 'given' }))).toBe('given');
  });

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
    const { X: given } = deploy([stack(name, template)], addresses).outputs();
    expect(String(given).replace(/-[0-9a-f]{8}$/, '')).toBe(readable);
  });

  it('have local addresses', () => {
    expect(value({ Ref: 'One' }, one('AWS::SQS::Queue', { QueueName: 'jobs' }))).toBe('http://local/0/jobs');
    const url = {
      'Fn::Join': ['', ['https://', { Ref: 'One' }, '.execute-api.', { Ref: 'AWS::Region' }, '.amazonaws.com/v1/']],
    };
    expect(value(url, one('AWS::ApiGateway::RestApi'))).toMatch(/^http:\/\/api\/[a-z0-9]{10}\/v1\/$/);
  });

  it('of a type without local meaning have a name and an ARN, and no other attribute', () => {
    expect(value({ 'Fn::GetAtt': ['One', 'Arn'] }, one('AWS::KMS::Key'))).toMatch(
      /^arn:aws:kms:eu-north-1:000000000000:key\//,
    );
    expect(() => value({ 'Fn::GetAtt': ['One', 'VpcId'] }, one('AWS::EC2::VPC'))).toThrow(/VpcId/);
  });

  it('of an unknown type are an error that names them', () => {
    expect(() => value('x', one('AWS::DynamoDB::Table'))).toThrow('S0/One: AWS::DynamoDB::Table cannot be run locally');
  });
});
