import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  DescribeSecretCommand,
  GetSecretValueCommand,
  PutSecretValueCommand,
  RotateSecretCommand,
  UpdateSecretVersionStageCommand,
} from '@aws-sdk/client-secrets-manager';
import { describe, expect, it } from 'vitest';
import { localSecrets, type RotationEvent, rotationFunctionArn } from '../../../helpers/local-secrets.ts';

const [token, other] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];
const one = () => localSecrets({ values: { one: 'first' } });
const errorOf = async (promise: Promise<unknown>) => {
  const error = (await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )) as Error | undefined;
  return error && `${error.name}: ${error.message}`;
};

describe('versions of a secret', () => {
  it('have stages: a new current one leaves the one before as the previous', async () => {
    const { client, secrets, arnOf } = one();
    const SecretId = arnOf('one');
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

  it('are put once for a token: again is nothing, another value is refused', async () => {
    const { client, arnOf } = one();
    const SecretId = arnOf('one');
    const put = (SecretString: string) =>
      client.send(
        new PutSecretValueCommand({ SecretId, SecretString, ClientRequestToken: token, VersionStages: ['AWSPENDING'] }),
      );
    await put('second');
    expect(await put('second')).toMatchObject({ VersionId: token, VersionStages: ['AWSPENDING'] });
    expect(await errorOf(put('third'))).toMatch(/^ResourceExistsException: You can't use ClientRequestToken/);
    const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId }));
    expect(SecretString).toBe('first');
  });

  it('that are missing, or have another stage, cannot be read', async () => {
    const { client, secrets, arnOf } = one();
    const SecretId = arnOf('one');
    secrets.reserve(SecretId, token);
    const read = (choice: object) => errorOf(client.send(new GetSecretValueCommand({ SecretId, ...choice })));
    const missing = "ResourceNotFoundException: Secrets Manager can't find the specified secret value for";
    expect(await read({ VersionStage: 'AWSPENDING' })).toBe(`${missing} staging label: AWSPENDING`);
    expect(await read({ VersionId: token })).toBe(`${missing} VersionId: ${token}`);
    expect(await read({ VersionId: other })).toBe(`${missing} VersionId: ${other}`);
    const { versionId } = secrets.get(SecretId);
    expect(await read({ VersionId: versionId, VersionStage: 'AWSPENDING' })).toMatch(
      /^InvalidRequestException: You provided/,
    );
  });

  it('give and take stages as Secrets Manager does', async () => {
    const { client, secrets, arnOf } = one();
    const SecretId = arnOf('one');
    const first = secrets.get(SecretId).versionId;
    secrets.put(SecretId, 'second', token, ['AWSPENDING']);
    const move = (VersionStage: string, RemoveFromVersionId?: string, MoveToVersionId?: string) =>
      errorOf(
        client.send(
          new UpdateSecretVersionStageCommand({ SecretId, VersionStage, RemoveFromVersionId, MoveToVersionId }),
        ),
      );
    expect(await move('AWSCURRENT', undefined, token)).toMatch(
      /^InvalidParameterException: The parameter RemoveFromVersionId can't be empty/,
    );
    expect(await move('AWSCURRENT', token, token)).toMatch(/^InvalidParameterException/);
    expect(await move('AWSCURRENT', first)).toMatch(/^InvalidParameterException/);
    expect(await move('AWSCURRENT', first, other)).toMatch(/^ResourceNotFoundException/);
    expect(await move('mine', undefined, undefined)).toMatch(/^InvalidParameterException/);
    expect(await move('mine', first)).toMatch(/^InvalidParameterException/);
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
      const arn = one().arnOf('one');
      const open = () => localSecrets({ values: { one: 'first' }, file }).secrets;
      open().put(arn, 'newer', other);
      expect(open().get(arn).value).toBe('newer');
      expect(open().get(arn, undefined, 'AWSPREVIOUS').value).toBe('first');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('a rotation', () => {
  const steps = ['createSecret', 'setSecret', 'testSecret', 'finishSecret'];

  /** Rotates by giving the secret a number. `fails` names a step that goes wrong. */
  function rotated({ now = new Date(0) } = {}) {
    const state = { fails: '', now, events: [] as RotationEvent[] };
    const world = localSecrets({
      values: { one: '0' },
      days: 30,
      now: () => state.now,
      async rotate(event) {
        state.events.push(event);
        const { Step, SecretId, ClientRequestToken } = event;
        if (Step === state.fails) throw new Error('not now');
        const current = world.secrets.get(SecretId);
        if (Step === 'createSecret')
          world.secrets.put(SecretId, String(Number(current.value) + 1), ClientRequestToken, []);
        if (Step === 'finishSecret') {
          world.secrets.move(SecretId, 'AWSCURRENT', current.versionId, ClientRequestToken);
          world.secrets.move(SecretId, 'AWSPENDING', ClientRequestToken, undefined);
        }
      },
    });
    const SecretId = world.arnOf('one');
    const settled = () => new Promise((resolve) => setTimeout(resolve, 5));
    const rotate = () => errorOf(world.client.send(new RotateSecretCommand({ SecretId })));
    return { ...world, SecretId, state, settled, rotate };
  }

  it('calls the four steps with the secret and the version, and answers before they end', async () => {
    const { client, SecretId, state, settled, secrets } = rotated();
    const rotate = new RotateSecretCommand({ SecretId, ClientRequestToken: token });
    expect(await client.send(rotate)).toMatchObject({ ARN: SecretId, VersionId: token });
    await settled();
    expect(state.events).toEqual(steps.map((Step) => ({ Step, SecretId, ClientRequestToken: token })));
    expect(secrets.get(SecretId)).toMatchObject({ versionId: token, value: '1', stages: ['AWSCURRENT'] });
  });

  it('that fails stays unfinished. Another one is refused, and tries it again', async () => {
    const { rotate, state, settled, steps: called, secrets, SecretId } = rotated();
    state.fails = 'testSecret';
    expect(await rotate()).toBeUndefined();
    await settled();
    expect(called).toEqual(['createSecret', 'setSecret', 'testSecret failed']);
    const { versionId } = secrets.staged(SecretId, 'AWSPENDING') ?? {};
    state.fails = '';
    expect(await rotate()).toMatch(/^InvalidRequestException: A previous rotation isn't complete/);
    await settled();
    expect(secrets.get(SecretId)).toMatchObject({ versionId, value: '1' });
    expect(await rotate()).toBeUndefined();
  });

  it('is due after its days, counted from the newest version, and a failed one is tried again', async () => {
    const { client, rotations, state, settled, secrets, SecretId } = rotated();
    const day = 24 * 3600 * 1000;
    const described = await client.send(new DescribeSecretCommand({ SecretId }));
    expect(described).toMatchObject({
      RotationEnabled: true,
      RotationLambdaARN: rotationFunctionArn,
      RotationRules: { AutomaticallyAfterDays: 30 },
      NextRotationDate: new Date(30 * day),
    });
    const valueAt = async (days: number) => {
      state.now = new Date(days * day);
      rotations.rotateDue();
      await settled();
      return secrets.get(SecretId).value;
    };
    expect(await valueAt(29.9)).toBe('0');
    expect(await valueAt(30)).toBe('1');
    expect(await valueAt(59)).toBe('1');
    state.fails = 'setSecret';
    expect(await valueAt(60)).toBe('1');
    state.fails = '';
    expect(await valueAt(60.1)).toBe('2');
  });

  it('needs a schedule', async () => {
    const { client, arnOf } = one();
    const rotate = client.send(new RotateSecretCommand({ SecretId: arnOf('one') }));
    expect(await errorOf(rotate)).toMatch(/^InvalidRequestException: No Lambda rotation function ARN/);
  });

  it.each([
    [{ permission: { Principal: 'events.amazonaws.com' } }, 'Secrets Manager may not call'],
    [{ permission: { SourceArn: 'arn:aws:secretsmanager:eu-north-1:000000000000:secret:two-AbCdEf' } }, 'may not call'],
    [{ schedule: { RotationRules: { ScheduleExpression: 'rate(30 days)' } } }, 'needs AutomaticallyAfterDays'],
  ])('is refused with a template that AWS refuses, or that this engine does not know (%j)', (change, message) => {
    expect(() => localSecrets({ values: { one: 'first' }, days: 30, ...change })).toThrow(message);
  });
});
