import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type App, type CfnElement, Stack } from 'aws-cdk-lib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ServiceFunction } from '../../lib/infra/functions/service-function.ts';
import { account } from '../helpers/settings.ts';
import { show, type Template } from '../helpers/template.ts';
import { stacksOfVariants } from '../helpers/variants.ts';

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

const deadLetters = ['Deliveries', 'ExportRequests', 'FileExports', 'SmallFileExports'];
const moveActions = [
  'CancelMessageMoveTask',
  'ChangeMessageVisibility',
  'DeleteMessage',
  'GetQueueAttributes',
  'ListMessageMoveTasks',
  'ReceiveMessage',
  'StartMessageMoveTask',
];
const throughSqs = 'StringEquals kms:ViaService sqs.AWS::Region.amazonaws.com';

/** The roles that serve no function of the service. Each has a row in docs/grants.md. */
const expected: Readonly<Record<string, Allowed>> = {
  Redrive: {
    trusts: ['arn:AWS::Partition:iam::AWS::AccountId:root'],
    managed: [],
    grants: [
      ...deadLetters.flatMap((queue) => moveActions.map((action) => `sqs:${action} ${queue}DeadLettersQueue`)),
      ...deadLetters.map((queue) => `sqs:SendMessage ${queue}Queue`),
      `kms:Decrypt ExportRequestsKey ${throughSqs}`,
      `kms:GenerateDataKey ExportRequestsKey ${throughSqs}`,
    ].toSorted(),
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

const outdir = mkdtempSync(join(tmpdir(), 'data-out-'));
let roles: { readonly variant: string; readonly name: string; readonly allowed: Allowed }[];

beforeAll(() => {
  roles = stacksOfVariants(outdir).flatMap(({ name: variant, app }) => {
    const ours = rolesOfFunctions(app);
    return app
      .synth()
      .stacks.flatMap(({ template }) => otherRoles(template, ours).map((role) => ({ variant, ...role })));
  });
}, 120_000);

afterAll(() => rmSync(outdir, { recursive: true }));

describe('roles that serve no function of the service', () => {
  test('are these, with every setting', () => {
    expect([...new Set(roles.map(({ name }) => name))].toSorted()).toStrictEqual(Object.keys(expected).toSorted());
  });

  test.each(Object.keys(expected))('%s may do this and nothing else', (name) => {
    const same = roles.filter((role) => role.name === name);
    expect(same.length).toBeGreaterThan(0);
    for (const { allowed, variant } of same) expect(allowed, variant).toStrictEqual(expected[name]);
  });

  test.each(Object.keys(expected))('%s has a row in docs/grants.md', (name) => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/grants.md'), 'utf8');
    expect(page).toContain(`\n| \`${name}\` | `);
  });
});

/** Logical ids of the roles of the service's functions, which `npm run grants` counts. */
function rolesOfFunctions(app: App): ReadonlySet<string> {
  const functions = app.node.findAll().filter((construct) => construct instanceof ServiceFunction);
  return new Set(
    functions.map((construct) => {
      const role = construct.node.findChild('Role').node.defaultChild as CfnElement;
      return Stack.of(role).resolve(role.logicalId);
    }),
  );
}

/** The roles of a template that no function of the service has. */
function otherRoles(
  { Resources: resources }: Template,
  ours: ReadonlySet<string>,
): { name: string; allowed: Allowed }[] {
  const entries = Object.entries(resources);
  const properties = (type: string) =>
    entries.filter(([, { Type }]) => Type === type).map(([id, { Properties }]) => ({ id, ...Properties }) as never);
  const policies = properties('AWS::IAM::Policy') as { Roles: unknown[]; PolicyDocument: { Statement: Statement[] } }[];
  return entries
    .filter(([id, { Type }]) => Type === 'AWS::IAM::Role' && !ours.has(id))
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

function grantsOf({ Action, Resource, Condition = {}, Effect }: Statement): string[] {
  expect(Effect).toBe('Allow');
  const conditions = Object.entries(Condition).flatMap(([operator, test]) =>
    Object.entries(test).map(([key, value]) => ` ${operator} ${key} ${anywhere(show(value))}`),
  );
  return [Action]
    .flat()
    .flatMap((action) => [Resource].flat().map((one) => `${action} ${show(one)}${conditions.join('')}`));
}

/** A variant may name its account and its region. */
function anywhere(text: string): string {
  return text
    .replace(/^arn:aws:/, 'arn:AWS::Partition:')
    .replace(account, 'AWS::AccountId')
    .replace('eu-north-1', 'AWS::Region');
}
