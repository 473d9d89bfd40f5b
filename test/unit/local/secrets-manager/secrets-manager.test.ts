import { describe, expect, it } from 'vitest';
import { Secrets } from '../../../../lib/local/secrets-manager/secrets.ts';
import { deployed } from '../../../helpers/deployed.ts';

const [token, other] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];
const deployment = deployed({ One: { Type: 'AWS::SecretsManager::Secret', Properties: { SecretString: 'first' } } });
const arn = deployment.resources('AWS::SecretsManager::Secret')[0]?.id ?? '';
const refused = (code: string) => expect.objectContaining({ code });

describe('versions of a secret', () => {
  it('have stages, which move as Secrets Manager moves them', () => {
    const secrets = new Secrets(deployment, undefined);
    const first = secrets.get(arn).versionId;
    const stages = () => Object.fromEntries(secrets.versions(arn).map((each) => [each.versionId, each.stages]));
    secrets.put(arn, 'second', token, ['DRAFT']);
    expect(secrets.get(arn).value).toBe('first');
    for (const [from, to, code] of [
      [undefined, token, 'InvalidParameterException'],
      [first, undefined, 'InvalidParameterException'],
      [first, other, 'ResourceNotFoundException'],
    ] as const) {
      expect(() => secrets.move(arn, 'AWSCURRENT', from, to)).toThrow(refused(code));
    }
    expect(stages()).toEqual({ [first]: ['AWSCURRENT'], [token]: ['DRAFT'] });
    secrets.move(arn, 'AWSCURRENT', first, token);
    expect(stages()).toEqual({ [first]: ['AWSPREVIOUS'], [token]: ['DRAFT', 'AWSCURRENT'] });
    secrets.put(arn, 'third', other);
    // The first version no longer has a stage.
    expect(stages()).toEqual({ [token]: ['DRAFT', 'AWSPREVIOUS'], [other]: ['AWSCURRENT'] });
    expect(() => secrets.get('arn:none')).toThrow(refused('ResourceNotFoundException'));
  });
});
