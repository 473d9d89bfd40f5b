import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  DescribeSecretCommand,
  GetSecretValueCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
  UpdateSecretVersionStageCommand,
} from '@aws-sdk/client-secrets-manager';
import { describe, expect, it } from 'vitest';
import { AwsError, errorReply } from '../../../../lib/local/endpoint/errors.ts';
import { Secrets } from '../../../../lib/local/secrets-manager/secrets.ts';
import { secretsManager } from '../../../../lib/local/secrets-manager/secrets-manager.ts';
import { deploy } from '../../../../lib/local/template/deployment.ts';
import { httpHandler, testClient, textOf } from '../../../helpers/http-handler.ts';

const [token, other] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];

/** The local Secrets Manager with the secret `one`, and a client that needs no socket. */
function one(file?: string) {
  const secret = { Type: 'AWS::SecretsManager::Secret', Properties: { Name: 'one', SecretString: 'first' } };
  const stack = { name: 'Test', template: { Resources: { one: secret } }, region: 'eu-north-1', assets: new Map() };
  const deployment = deploy([stack], { queueUrl: (name) => name, apiUrl: (id) => id });
  const secrets = new Secrets(deployment, file, () => new Date());
  const service = secretsManager(secrets);
  const client = new SecretsManagerClient({
    ...testClient,
    maxAttempts: 1,
    requestHandler: httpHandler(async (request) => {
      const body = Buffer.from(textOf(request));
      const { action, input } = service.parse(request.path, request.headers, body, '');
      const reply = await service.handle(action, input, body, request.headers).catch((error: unknown) => {
        if (error instanceof AwsError) return errorReply('secretsmanager', error);
        throw error;
      });
      return reply;
    }),
  });
  return { secrets, client, SecretId: secrets.arnOf('one') };
}
const errorOf = async (promise: Promise<unknown>) => {
  const error = (await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )) as Error | undefined;
  return error && `${error.name}: ${error.message}`;
};

describe('versions of a secret', () => {
  it('have stages: a new current one leaves the one before as the previous', async () => {
    const { client, secrets, SecretId } = one();
    const first = secrets.get(SecretId).versionId;
    const put = new PutSecretValueCommand({ SecretId, SecretString: 'second', ClientRequestToken: token });
    expect(await client.send(put)).toMatchObject({ VersionId: token, VersionStages: ['AWSCURRENT'] });
    const described = await client.send(new DescribeSecretCommand({ SecretId }));
    expect(described.VersionIdsToStages).toEqual({ [first]: ['AWSPREVIOUS'], [token]: ['AWSCURRENT'] });
    const read = async (choice: object) =>
      (await client.send(new GetSecretValueCommand({ SecretId, ...choice }))).SecretString;
    expect(await read({})).toBe('second');
    expect(await read({ VersionStage: 'AWSPREVIOUS' })).toBe('first');
    expect(await read({ VersionId: first })).toBe('first');
    await client.send(new PutSecretValueCommand({ SecretId, SecretString: 'third' }));
    // The first version no longer has a stage.
    const gone = client.send(new GetSecretValueCommand({ SecretId, VersionId: first }));
    expect(await errorOf(gone)).toContain('ResourceNotFoundException');
  });

  it('that are missing, or have another stage, cannot be read', async () => {
    const { client, secrets, SecretId } = one();
    secrets.put(SecretId, 'second', token, ['AWSPENDING']);
    const read = (choice: object) => errorOf(client.send(new GetSecretValueCommand({ SecretId, ...choice })));
    const missing = "ResourceNotFoundException: Secrets Manager can't find the specified secret value for";
    expect(await read({ VersionStage: 'AWSPREVIOUS' })).toBe(`${missing} staging label: AWSPREVIOUS`);
    expect(await read({ VersionId: other })).toBe(`${missing} VersionId: ${other}`);
    const { versionId } = secrets.get(SecretId);
    expect(await read({ VersionId: versionId, VersionStage: 'AWSPENDING' })).toMatch(
      /^InvalidRequestException: You provided/,
    );
  });

  it('give and take stages as Secrets Manager does', async () => {
    const { client, secrets, SecretId } = one();
    const first = secrets.get(SecretId).versionId;
    secrets.put(SecretId, 'second', token, ['AWSPENDING']);
    const move = (VersionStage: string, RemoveFromVersionId?: string, MoveToVersionId?: string) =>
      errorOf(
        client.send(
          new UpdateSecretVersionStageCommand({ SecretId, VersionStage, RemoveFromVersionId, MoveToVersionId }),
        ),
      );
    expect(await move('AWSCURRENT', undefined, token)).toMatch(/^InvalidParameterException/);
    expect(await move('AWSCURRENT', first)).toMatch(/^InvalidParameterException/);
    expect(await move('AWSCURRENT', first, other)).toMatch(/^ResourceNotFoundException/);
    const stages = () => Object.fromEntries(secrets.versions(SecretId).map((each) => [each.versionId, each.stages]));
    expect(stages()).toEqual({ [first]: ['AWSCURRENT'], [token]: ['AWSPENDING'] });
    expect(await move('AWSCURRENT', first, token)).toBeUndefined();
    expect(stages()).toEqual({ [first]: ['AWSPREVIOUS'], [token]: ['AWSPENDING', 'AWSCURRENT'] });
    expect(await move('AWSPENDING', token)).toBeUndefined();
    expect(stages()).toEqual({ [first]: ['AWSPREVIOUS'], [token]: ['AWSCURRENT'] });
  });

  it('are kept in the file', () => {
    const folder = mkdtempSync(join(tmpdir(), 'data-out-secrets-'));
    try {
      const file = join(folder, 'secrets.json');
      const arn = one().SecretId;
      const open = () => one(file).secrets;
      open().put(arn, 'newer', other);
      expect(open().get(arn).value).toBe('newer');
      expect(open().get(arn, undefined, 'AWSPREVIOUS').value).toBe('first');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
