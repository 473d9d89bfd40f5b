import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { settings } from '../../bin/settings.ts';
import { account } from '../helpers/settings.ts';
import { templatesOf } from '../helpers/synthesized.ts';
import { show, type Template } from '../helpers/template.ts';
import { variants } from '../helpers/variants.ts';

interface Statement {
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
  readonly Principal?: unknown;
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly Effect: string;
}

/** What a role allows, in the words of the template. */
interface Allowed {
  readonly trusts: readonly string[];
  readonly managed: readonly string[];
  readonly grants: readonly string[];
}

/** The roles that serve no function of the service. Each has a row in test/grants/grants.md. */
const expected: Readonly<Record<string, Allowed>> = {
  Operators: {
    trusts: ['arn:AWS::Partition:iam::AWS::AccountId:root'],
    managed: [],
    grants: ['Deliveries', 'FileExports', 'SmallFileExports'].map((queue) => `sqs:SendMessage ${queue}Queue`),
  },
  // https://docs.aws.amazon.com/aws-managed-policy/latest/reference/AmazonAPIGatewayPushToCloudWatchLogs.html
  ApiGatewayLogs: {
    trusts: ['apigateway.amazonaws.com'],
    managed: ['service-role/AmazonAPIGatewayPushToCloudWatchLogs'],
    grants: [],
  },
  // https://docs.aws.amazon.com/aws-managed-policy/latest/reference/AWSLambdaBasicExecutionRole.html
  AWSCDKTriggerCustomResourceProvider: {
    trusts: ['lambda.amazonaws.com'],
    managed: ['service-role/AWSLambdaBasicExecutionRole'],
    grants: ['lambda:InvokeFunction FunctionsMigrateFunction:*', 'lambda:InvokeFunction FunctionsProtectFunction:*'],
  },
};

const roles = Object.entries(variants).flatMap(([variant, change]) =>
  Object.values(templatesOf({ ...settings, ...change })).flatMap((template) =>
    otherRoles(template.toJSON()).map((role) => ({ variant, ...role })),
  ),
);

describe('roles that serve no function of the service', () => {
  test('are these, with every setting', () => {
    expect([...new Set(roles.map(({ name }) => name))].toSorted()).toStrictEqual(Object.keys(expected).toSorted());
  });

  test.each(Object.keys(expected))('%s may do this and nothing else', (name) => {
    const same = roles.filter((role) => role.name === name);
    expect(same.length).toBeGreaterThan(0);
    for (const { allowed, variant } of same) expect(allowed, variant).toStrictEqual(expected[name]);
  });

  test.each(Object.keys(expected))('%s has a row in test/grants/grants.md', (name) => {
    const page = readFileSync(join(import.meta.dirname, '../../test/grants/grants.md'), 'utf8');
    expect(page).toContain(`\n| \`${name}\` | `);
  });
});

/** The roles of a template that no function of the service has, as `npm run grants` counts those. */
function otherRoles({ Resources: resources }: Pick<Template, 'Resources'>): { name: string; allowed: Allowed }[] {
  const entries = Object.entries(resources);
  const properties = (type: string) =>
    entries.filter(([, { Type }]) => Type === type).map(([id, { Properties }]) => ({ id, ...Properties }) as never);
  const policies = properties('AWS::IAM::Policy') as { Roles: unknown[]; PolicyDocument: { Statement: Statement[] } }[];
  const functions = entries.filter(
    ([id, { Type }]) => Type === 'AWS::Lambda::Function' && /Function[0-9A-F]{8}$/.test(id),
  );
  const ours = JSON.stringify(functions.map(([, { Properties }]) => Properties.Role));
  return entries
    .filter(([id, { Type }]) => Type === 'AWS::IAM::Role' && !ours.includes(`"${id}"`))
    .map(([id, { Properties }]) => {
      const role = Properties as {
        AssumeRolePolicyDocument: { Statement: Statement[] };
        ManagedPolicyArns?: unknown[];
        Policies?: { PolicyDocument: { Statement: Statement[] } }[];
      };
      const attached = policies.filter(({ Roles }) => JSON.stringify(Roles).includes(`"${id}"`));
      const statements = [...(role.Policies ?? []), ...attached].flatMap(
        ({ PolicyDocument }) => PolicyDocument.Statement,
      );
      return {
        name: id.replace(/(CustomResourceProvider)?Role[0-9A-F]{8}$/, ''),
        allowed: {
          trusts: role.AssumeRolePolicyDocument.Statement.flatMap(({ Principal }) =>
            Object.values(Principal as object).map((one) => anywhere(show(one))),
          ),
          managed: (role.ManagedPolicyArns ?? []).map((arn) =>
            JSON.stringify(arn).replace(/^.*:policy\/|"[^"]*$/g, ''),
          ),
          grants: statements.flatMap(grantsOf).toSorted(),
        },
      };
    });
}

function grantsOf({ Action, Resource, Condition, Effect }: Statement): string[] {
  expect([Effect, Condition]).toEqual(['Allow', undefined]);
  return [Action].flat().flatMap((action) => [Resource].flat().map((one) => `${action} ${show(one)}`));
}

/** A variant may name its account and its region. */
function anywhere(text: string): string {
  return text
    .replace(/^arn:aws:/, 'arn:AWS::Partition:')
    .replace(account, 'AWS::AccountId')
    .replace('eu-north-1', 'AWS::Region');
}
