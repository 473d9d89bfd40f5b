import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { AwsError, errorReply } from '../../lib/local/endpoint/errors.ts';
import type { Functions } from '../../lib/local/lambda/functions.ts';
import { Rotations } from '../../lib/local/secrets-manager/rotations.ts';
import { Secrets } from '../../lib/local/secrets-manager/secrets.ts';
import { secretsManager } from '../../lib/local/secrets-manager/secrets-manager.ts';
import { deploy } from '../../lib/local/template/deployment.ts';
import type { ResourceDeclaration } from '../../lib/local/template/template.ts';
import { httpHandler, testClient, textOf } from './http-handler.ts';

/** An event as Secrets Manager sends it to a rotation function. */
export interface RotationEvent {
  readonly Step: string;
  readonly SecretId: string;
  readonly ClientRequestToken: string;
}

export interface LocalSecretsOptions {
  /** Secrets by their names, with their first values. The name is also the logical id. */
  readonly values: Readonly<Record<string, string>>;
  /** Days until each is rotated. @default - none is rotated */
  readonly days?: number;
  readonly rotate?: (event: RotationEvent) => Promise<unknown>;
  /** Properties of the schedules and of the permission, over those that are right. */
  readonly schedule?: Readonly<Record<string, unknown>>;
  readonly permission?: Readonly<Record<string, unknown>>;
  readonly file?: string;
  readonly now?: () => Date;
  /** Called around each call of the API; what it throws is what the client gets. */
  readonly onCall?: (action: string, when: 'before' | 'after') => void;
}

export const rotationFunctionArn = 'arn:aws:lambda:eu-north-1:000000000000:function:rotate';

/** The local Secrets Manager from a template, with a client that needs no socket. */
export function localSecrets(options: LocalSecretsOptions) {
  const { values, days, rotate = async () => {}, now = () => new Date(), onCall = () => {} } = options;
  const resources: Record<string, ResourceDeclaration> = {};
  for (const [name, value] of Object.entries(values)) {
    resources[name] = { Type: 'AWS::SecretsManager::Secret', Properties: { Name: name, SecretString: value } };
    if (days === undefined) continue;
    resources[`${name}Schedule`] = {
      Type: 'AWS::SecretsManager::RotationSchedule',
      Properties: {
        SecretId: { Ref: name },
        RotationLambdaARN: rotationFunctionArn,
        RotationRules: { AutomaticallyAfterDays: days },
        RotateImmediatelyOnUpdate: false,
        ...options.schedule,
      },
    };
    resources[`${name}Permission`] = {
      Type: 'AWS::Lambda::Permission',
      Properties: {
        Action: 'lambda:InvokeFunction',
        Principal: 'secretsmanager.amazonaws.com',
        FunctionName: rotationFunctionArn,
        SourceArn: { Ref: name },
        ...options.permission,
      },
    };
  }
  const stack = { name: 'Test', template: { Resources: resources }, region: 'eu-north-1', assets: new Map() };
  const deployment = deploy([stack], { queueUrl: (name) => name, apiUrl: (id) => id });
  const secrets = new Secrets(deployment, options.file, now);
  /** Steps that were called, and whether each went well. */
  const steps: string[] = [];
  const functions: Pick<Functions, 'definition' | 'invoke'> = {
    definition: (name) => ({ name, arn: name }) as ReturnType<Functions['definition']>,
    async invoke(_name, event) {
      const request = event as RotationEvent;
      try {
        await rotate(request);
        steps.push(request.Step);
        return { ok: true, payload: null, durationMs: 1 };
      } catch (error) {
        steps.push(`${request.Step} failed`);
        return { ok: false, error: { errorType: 'Error', errorMessage: String(error) } };
      }
    },
  };
  const rotations = new Rotations(deployment, secrets, functions, now);
  const service = secretsManager(secrets, rotations, { deletedSecrets: new Map() });
  const client = new SecretsManagerClient({
    ...testClient,
    maxAttempts: 1,
    requestHandler: httpHandler(async ({ path, headers, ...request }) => {
      const body = Buffer.from(textOf({ path, headers, ...request }));
      const refusal = (error: unknown) => {
        if (error instanceof AwsError) return errorReply('secretsmanager', error);
        throw error;
      };
      const { action, input } = service.parse(path, headers, body, '');
      onCall(action, 'before');
      const reply = await service.handle(action, input, body, headers).catch(refusal);
      onCall(action, 'after');
      return reply;
    }),
  });
  const arnOf = (name: string) => secrets.arnOf(name);
  return { secrets, rotations, client, steps, arnOf };
}
