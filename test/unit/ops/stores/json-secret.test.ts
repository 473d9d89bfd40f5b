import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { describe, expect, it } from 'vitest';
import { jsonSecret } from '../../../../lib/ops/stores/json-secret.ts';
import { type SdkReply, type SdkRequest, scripted, testClient } from '../../../helpers/http-handler.ts';

const secretArn = 'arn:aws:secretsmanager:eu-north-1:1:secret:s';

function secretWith(...replies: SdkReply[]) {
  const network = scripted(replies);
  const client = new SecretsManagerClient({ ...testClient, maxAttempts: 1, requestHandler: network.handler });
  return { secret: jsonSecret({ client, secretArn }), requests: network.requests };
}

const bodyOf = ({ body }: SdkRequest): unknown => JSON.parse(new TextDecoder().decode(body as Uint8Array));
const answer = (document: object, status = 200): SdkReply => ({ status, body: JSON.stringify(document) });

describe('jsonSecret', () => {
  it('has no value before the first one is put', async () => {
    const { secret } = secretWith(answer({ __type: 'ResourceNotFoundException' }, 400));
    expect(await secret.read()).toBeUndefined();
  });

  it('names a secret that is not JSON, and shows nothing of it', async () => {
    const { secret } = secretWith(answer({ SecretString: 'hunter2 is not JSON' }));
    const error: unknown = await secret.read().catch((thrown) => thrown);
    expect(error).toMatchObject({ name: 'MalformedSecretError', message: expect.stringContaining(secretArn) });
    expect(String(error) + JSON.stringify(error)).not.toContain('hunter2');
  });

  it('writes the first version', async () => {
    const { secret, requests } = secretWith(answer({ VersionId: 'v1' }));
    await secret.write({ users: [] });
    expect(requests[0]?.headers['x-amz-target']).toBe('secretsmanager.PutSecretValue');
    expect(bodyOf(requests[0]!)).toMatchObject({ SecretId: secretArn, SecretString: '{"users":[]}' });
  });

  it('makes a version the current one instead of the version that was read', async () => {
    const put = answer({ VersionId: 'v2' });
    const { secret, requests } = secretWith(answer({ SecretString: '{}', VersionId: 'v1' }), put, answer({}));
    await secret.read();
    await secret.write({ users: [] });
    expect(bodyOf(requests[1]!)).toMatchObject({ SecretString: '{"users":[]}', VersionStages: ['DATA_OUT_DRAFT'] });
    expect(bodyOf(requests[2]!)).toEqual({
      ...{ SecretId: secretArn, VersionStage: 'AWSCURRENT' },
      ...{ RemoveFromVersionId: 'v1', MoveToVersionId: 'v2' },
    });
  });

  it.each(['InvalidParameterException', 'ResourceNotFoundException'])('is not written over: %s', async (__type) => {
    const { secret } = secretWith(
      answer({ SecretString: '{}', VersionId: 'v1' }),
      answer({ VersionId: 'v2' }),
      answer({ __type }, 400),
      answer({ SecretString: '{}', VersionId: 'v3' }),
    );
    await secret.read();
    await expect(secret.write({})).rejects.toThrow('another process changed the secret meanwhile');
  });

  it('is written when the answer was lost and the call was repeated', async () => {
    const { secret } = secretWith(
      answer({ SecretString: '{}', VersionId: 'v1' }),
      answer({ VersionId: 'v2' }),
      answer({ __type: 'InvalidParameterException' }, 400),
      answer({ SecretString: '{"users":[]}', VersionId: 'v2' }),
    );
    await secret.read();
    await secret.write({ users: [] });
  });

  it('says when a retry makes sense', async () => {
    const { secret } = secretWith(answer({ __type: 'ThrottlingException' }, 400), answer({ __type: 'x' }, 500));
    await expect(secret.read()).rejects.toThrow(expect.objectContaining({ code: 'temporarily_unavailable' }));
    await expect(secret.write({})).rejects.toThrow(expect.objectContaining({ code: 'temporarily_unavailable' }));
  });
});
