import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { settings } from '../../bin/settings.ts';
import { grantsTable, unmarked } from '../grants/table.ts';
import { allGrants } from '../helpers/function-roles.ts';
import { templatesOf } from '../helpers/synthesized.ts';
import { show, stackTemplate } from '../helpers/template.ts';

const through = (service: string) =>
  `{"StringEquals":{"kms:ViaService":{"Fn::Join":["",["${service}.",{"Ref":"AWS::Region"},".amazonaws.com"]]}}}`;

interface Statement {
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly Principal?: unknown;
}

let service: Awaited<ReturnType<typeof stackTemplate>>;
let storage: Awaited<ReturnType<typeof stackTemplate>>;
beforeAll(async () => {
  service = await stackTemplate('DataOutService');
  storage = await stackTemplate('DataOutStorage');
});

/** The allowed actions of a policy document, one line an action and resource. */
function lines(statements: readonly Statement[]): string[] {
  return statements
    .flatMap((statement) => {
      expect(statement.Effect).toBe('Allow');
      return [statement.Action].flat().flatMap((action) =>
        [statement.Resource].flat().map((resource) => {
          const condition = statement.Condition ? ` ${JSON.stringify(statement.Condition)}` : '';
          return `${action} ${show(resource)}${condition}`;
        }),
      );
    })
    .sort();
}

test('the table of test/grants/grants.tsv is what the templates allow (npm run grants -- --write)', () => {
  const { grants, deployment } = allGrants();
  expect(grants.length).toBeGreaterThan(200);
  const table = readFileSync(join(import.meta.dirname, '../grants/grants.tsv'), 'utf8');
  // Who uses a grant is known after a run only.
  expect(unmarked(table)).toBe(unmarked(grantsTable(grants, deployment)));
}, 120_000);

describe('the functions', () => {
  test('have a role with one policy each, and no other way to a permission', () => {
    const roles = service.all('AWS::IAM::Role');
    const own = roles.filter(({ Metadata }) => Metadata?.['aws:cdk:path']?.includes('/Functions/'));
    // One more function and role for the trigger that runs the migration, one role for API Gateway's logs, one for operators.
    expect(service.all('AWS::Lambda::Function')).toHaveLength(own.length + 1);
    expect(roles).toHaveLength(own.length + 3);
    expect(service.all('AWS::IAM::Policy')).toHaveLength(own.length + 1);
    for (const { Properties } of own) {
      expect(Object.keys(Properties).sort()).toEqual(['AssumeRolePolicyDocument', 'Description', 'Tags']);
    }
  });

  test('no key that encrypts is for any use: each grant names the service that uses it', () => {
    const statements = service
      .all('AWS::IAM::Policy')
      .flatMap(({ Properties }): readonly Statement[] => Properties.PolicyDocument.Statement)
      .filter(({ Action }) => /"kms:(?!Sign|GetPublicKey)/.test(JSON.stringify(Action)));
    expect(statements.length).toBeGreaterThan(10);
    for (const { Condition } of statements) {
      const services = ['s3', 'secretsmanager', 'sqs'].map(through);
      expect(services).toContain(JSON.stringify(Condition));
    }
  });
});

describe('what one function alone does', () => {
  /** The denials of a policy that depend on the caller, as resource, actions and the pattern of the admitted role. */
  const denials = ({ Statement: statements }: { Statement: readonly Statement[] }) =>
    statements
      .filter(({ Effect, Condition }) => Effect === 'Deny' && Condition?.ArnNotLike)
      .map(({ Principal, Action, Resource, Condition }) => {
        expect(Principal).toEqual({ AWS: '*' });
        return [show(Resource), Action, show(Condition?.ArnNotLike?.['aws:PrincipalArn'])];
      });
  const role = (names: string) => `arn:AWS::Partition:iam::AWS::AccountId:role/${names}`;
  const writing = ['s3:PutObject', 's3:ReplicateObject'];
  const recipient = '?'.repeat(64);

  test('is to write its part of the outbox, and to sign receipts', () => {
    expect(denials(storage.at('Outbox/Bucket/Policy').Properties.PolicyDocument)).toEqual([
      [`OutboxBucket/${recipient}/*.c4gh`, writing, role('DataOutService-FunctionsStageFileRole*')],
      [`OutboxBucket/${recipient}/*.delivery.jws`, writing, role('DataOutService-FunctionsSettleDeliveryR*')],
      ['OutboxBucket/direct/*', writing, role('DataOutService-FunctionsDirectFileRole*')],
    ]);
    expect(denials(storage.at('ReceiptKeys/Key1').Properties.KeyPolicy)).toEqual([
      ['*', 'kms:Sign', role('DataOutService-FunctionsSettleDeliveryR*')],
    ]);
  });

  // CloudFormation cuts stack and logical id when both are long. Such names were seen in AWS, for other stacks.
  test.each([
    ['prod', 'DataOutService-prod-FunctionsStageFileRole*'],
    ['productio', 'DataOutService-productio-FunctionsStageFileRole*'],
    ['production-sweden-01', 'DataOutService-productio*-FunctionsStageFileRole*'],
  ])('is known by the names that the role has with the stage %s', (stage, names) => {
    const { stored } = templatesOf({ ...settings, stage });
    const [policy] = Object.values(stored.findResources('AWS::S3::BucketPolicy')).flatMap(({ Properties }) => {
      const found = denials(Properties.PolicyDocument);
      return found.length > 0 ? [found] : [];
    });
    expect(policy?.[0]?.[2]).toBe(role(names));
  });

  test('keeps the role that it had, because a path would replace it', () => {
    for (const { Properties } of service.all('AWS::IAM::Role')) expect(Properties.Path).toBeUndefined();
  });
});

describe('queues', () => {
  /** What the policies of a queue refuse beside plain HTTP, whatever a caller's own policies allow. */
  const refusals = (stack: typeof service, queue: string) =>
    stack
      .all('AWS::SQS::QueuePolicy')
      .filter(({ Properties }) => show(Properties.Queues[0]) === queue)
      .flatMap(({ Properties }) => Properties.PolicyDocument.Statement)
      .filter(({ Action }) => Action !== 'sqs:*');

  test.each([
    ['ExportRequests', ['Export']],
    ['FileExports', ['ConsumeExport', 'StageFile', 'SweepDeliveries', 'Operators']],
    ['SmallFileExports', ['ConsumeExport', 'SweepDeliveries', 'Operators']],
    ['Deliveries', ['StageFile', 'RecordDeadLetters', 'SweepDeliveries', 'Withdraw', 'Operators']],
  ])('%s takes messages of %j only', (name, senders) => {
    const queue = `${name}Queue`;
    const [refusal, ...others] = refusals(service, queue);
    expect(others).toEqual([]);
    expect(refusal).toMatchObject({ Effect: 'Deny', Principal: { AWS: '*' }, Action: 'sqs:SendMessage' });
    expect(show(refusal.Resource)).toBe(queue);
    const { ArnNotEquals, ...rest } = refusal.Condition;
    expect(rest).toEqual({});
    const roles = senders.map((sender) => `${sender === 'Operators' ? '' : 'Functions'}${sender}Role`);
    expect(ArnNotEquals['aws:PrincipalArn'].map(show)).toEqual(roles);
  });

  test.each(['ExportRequests', 'FileExports', 'SmallFileExports', 'Deliveries'])(
    'the dead letters of %s take what SQS moves there, and no more',
    (name) => {
      const [refusal, ...others] = refusals(storage, `${name}DeadLettersQueue`);
      expect(others).toEqual([]);
      expect(refusal).toMatchObject({
        Effect: 'Deny',
        Principal: { AWS: '*' },
        Action: 'sqs:SendMessage',
        Condition: { Bool: { 'aws:PrincipalIsAWSService': 'false' } },
      });
      const { redrivePermission, sourceQueueArns } = storage.at(`${name}DeadLetters/Queue`).Properties
        .RedriveAllowPolicy;
      expect(redrivePermission).toBe('byQueue');
      const { QueueName } = service.at(`${name}/Queue`).Properties;
      expect(QueueName).toBe(`DataOutService-${name}`);
      expect(sourceQueueArns.map(show)).toEqual([`arn:AWS::Partition:sqs:AWS::Region:AWS::AccountId:${QueueName}`]);
    },
  );
});

test('no function may call another', () => {
  const statements = service
    .all('AWS::IAM::Policy')
    .flatMap(({ Properties }) => lines(Properties.PolicyDocument.Statement));
  expect(statements.length).toBeGreaterThan(100);
  expect(statements.filter((line) => line.startsWith('lambda:'))).toEqual([]);
});

test('roles are for Lambda, one for API Gateway’s logs, one for operators; no policy lets a wildcard principal in', () => {
  const principals = service
    .all('AWS::IAM::Role')
    .flatMap(({ Properties }) => Properties.AssumeRolePolicyDocument.Statement)
    .map(({ Principal }) => Principal);
  const [first, second, ...others] = principals.filter(({ Service }) => Service !== 'lambda.amazonaws.com');
  expect(others).toEqual([]);
  expect(show(first.AWS)).toBe('arn:AWS::Partition:iam::AWS::AccountId:root');
  expect(second).toEqual({ Service: 'apigateway.amazonaws.com' });
  const documents = [...service.all('AWS::SQS::QueuePolicy'), ...storage.all('AWS::SQS::QueuePolicy')]
    .concat(storage.all('AWS::S3::BucketPolicy'))
    .map(({ Properties }) => Properties.PolicyDocument)
    .concat(storage.all('AWS::KMS::Key').map(({ Properties }) => Properties.KeyPolicy));
  const allowing = documents.flatMap(({ Statement }) => Statement).filter(({ Effect }) => Effect === 'Allow');
  expect(allowing.length).toBeGreaterThan(0);
  for (const { Principal } of allowing) expect(JSON.stringify(Principal)).not.toContain('*');
});
