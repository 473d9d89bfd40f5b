import { PutSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { databaseRoles } from '../../../../../../lib/contract/database-roles.ts';
import type { Login } from '../../../../../../lib/local/rds-data/database-login.ts';
import { prepareRole } from '../../../../../../lib/service/stores/rds/logins/database-role.ts';
import {
  RotationError,
  type RotationStep,
  rotateLogin,
  rotationSteps,
} from '../../../../../../lib/service/stores/rds/logins/rotate-login.ts';
import { MalformedSecretError } from '../../../../../../lib/service/stores/secrets.ts';
import { TestDatabase } from '../../../../../helpers/data-api.ts';
import { type LocalSecretsOptions, localSecrets, type RotationEvent } from '../../../../../helpers/local-secrets.ts';
import { everyRun } from '../../../../../helpers/runs.ts';

const role = databaseRoles.proxy;
const clone = 'data_out_proxy_clone';
const first: Login = { username: role, password: 'correct-horse-battery-staple' };
let test: TestDatabase;
beforeAll(async () => {
  test = await TestDatabase.migrated();
});
afterAll(() => test[Symbol.asyncDispose]());

/** Makes one call of Secrets Manager fail, before or after its effect. */
interface Broken {
  /** Index of the call. */
  readonly call: number;
  readonly when: 'before' | 'after';
}

let world: ReturnType<typeof makeWorld>;
beforeEach(async () => {
  for (const name of [role, clone]) {
    await test.sql(`do $$ begin if exists (select from pg_roles where rolname = '${name}')
      then drop owned by ${name}; drop role ${name}; end if; end $$`);
  }
  await prepareRole(test.dataApi(), role, first.password);
  world = makeWorld();
});

function makeWorld(options: Partial<LocalSecretsOptions> = {}) {
  const calls: string[] = [];
  const state = { broken: undefined as Broken | undefined, cached: undefined as Login | undefined };
  const onCall = (action: string, when: 'before' | 'after') => {
    if (when === 'before') calls.push(action);
    if (state.broken?.call !== calls.length - 1 || state.broken.when !== when) return;
    state.broken = undefined;
    throw Object.assign(new Error('the function dies here'), { name: 'Crash' });
  };
  const rotate = ({ Step, ClientRequestToken }: RotationEvent) => step(Step as RotationStep, ClientRequestToken);
  const local = localSecrets({ values: { proxy: JSON.stringify(first) }, days: 30, onCall, rotate, ...options });
  const secretArn = local.arnOf('proxy');
  test.logins = Object.defineProperty({}, secretArn, { get: () => state.cached ?? local.secrets.login(secretArn) });
  const step = async (name: RotationStep, versionId: string) => {
    const owner = test.dataApi();
    const user = test.dataApi({ secretArn, remainingMs: () => 20_000 });
    const clock = {
      now: () => test.now,
      sleep: async (ms: number) => {
        test.now += ms;
      },
    };
    return await rotateLogin(name, versionId, { client: local.client, secretArn, role, owner, user, ...clock });
  };
  const stages = () =>
    Object.fromEntries(local.secrets.versions(secretArn).map((each) => [each.versionId, each.stages]));
  const login = (stage: string) => JSON.parse(local.secrets.get(secretArn, undefined, stage).value) as Login;
  /** Run SQL with a login that was read earlier. */
  const worksAs = async (login: Login) => {
    await test.database.run('select 1 from data_out.archive_users', [], { login });
  };
  return { ...local, secretArn, step, stages, login, worksAs, state, calls };
}

/** Begin a rotation without calling its steps. */
function begin(versionId = crypto.randomUUID()): string {
  world.secrets.reserve(world.secretArn, versionId);
  return versionId;
}

async function rotate(versionId = begin()): Promise<string> {
  for (const name of rotationSteps) await world.step(name, versionId);
  return versionId;
}

describe('a rotation', () => {
  it('gives the secret the other login, with a password of the same form, and leaves the earlier login alone', async () => {
    const before = world.secrets.get(world.secretArn).versionId;
    const versionId = begin();
    for (const name of rotationSteps) expect(await world.step(name, versionId)).toBe('done');
    expect(world.stages()).toEqual({ [before]: ['AWSPREVIOUS'], [versionId]: ['AWSCURRENT'] });
    const current = world.login('AWSCURRENT');
    expect(current).toEqual({ username: clone, password: expect.stringMatching(/^[A-Za-z0-9]{48}$/) });
    await world.worksAs(current);
    await world.worksAs(first);
  });

  it('goes back to the first login the next time, and ends the password that it had', async () => {
    for (const _ of [1, 2]) await rotate();
    expect(world.login('AWSPREVIOUS').username).toBe(clone);
    const current = world.login('AWSCURRENT');
    expect(current.username).toBe(role);
    expect(current.password).not.toBe(first.password);
    await world.worksAs(current);
    await world.worksAs(world.login('AWSPREVIOUS'));
    await expect(world.worksAs(first)).rejects.toThrow('password authentication failed');
  });

  it('never puts a password into a statement', async () => {
    test.bodies.length = 0;
    await rotate();
    expect(test.bodies.some((body) => body.includes('SCRAM-SHA-256$'))).toBe(true);
    expect(test.bodies.join()).not.toContain(world.login('AWSCURRENT').password);
  });

  it('gives the other login the rights of the role and no others', async () => {
    await rotate();
    const rights = (name: string) =>
      test.sql(`select table_schema, table_name, privilege_type from information_schema.role_table_grants
        where grantee = '${name}' order by 1, 2, 3`);
    expect(await rights(clone)).toEqual([['data_out', 'archive_users', 'SELECT']]);
    expect(await rights(clone)).toEqual(await rights(role));
    expect(
      await test.sql(`select rolcreaterole, rolinherit, rolsuper from pg_roles where rolname = '${clone}'`),
    ).toEqual([['f', 'f', 'f']]);
  });
});

it('the code of an earlier deployment, which grants nothing yet, gives a login with the newest rights', async () => {
  // After `Migrate`, that code finds the other login or makes it, and sets its password.
  await test.sql(`do $$ begin if not exists (select from pg_roles where rolname = '${clone}')
    then create role ${clone} login noinherit; end if; end $$`);
  await test.sql(`alter role ${clone} password 'sixteen-or-more-characters'`);
  await world.worksAs({ username: clone, password: 'sixteen-or-more-characters' });
});

it('nothing can log in as a login that was never rotated to', async () => {
  await expect(world.worksAs({ username: clone, password: '' })).rejects.toThrow();
  expect(await test.sql(`select rolpassword is null from pg_authid where rolname = '${clone}'`)).toEqual([['t']]);
});

describe('each step', () => {
  it('may be called again, and changes nothing then', async () => {
    const versionId = begin();
    for (const [index, name] of rotationSteps.entries()) {
      await world.step(name, versionId);
      const after = [world.stages(), world.secrets.versions(world.secretArn)];
      for (const again of rotationSteps.slice(0, index + 1)) {
        // What was called before may be called late.
        if (again === 'finishSecret' || name !== 'finishSecret') await world.step(again, versionId);
      }
      expect([world.stages(), world.secrets.versions(world.secretArn)]).toEqual(after);
    }
    expect(await world.step('finishSecret', versionId)).toBe('nothing to do');
    expect(await world.step('createSecret', versionId)).toBe('nothing to do');
  });

  it.each(rotationSteps)('%s refuses a version that is not staged for rotation', async (name) => {
    const ended = await rotate();
    await rotate();
    const before = world.stages();
    for (const versionId of [crypto.randomUUID(), ended]) {
      await expect(world.step(name, versionId)).rejects.toThrow(RotationError);
      await expect(world.step(name, versionId)).rejects.toThrow(`${versionId} of ${world.secretArn} is not staged`);
    }
    expect(world.stages()).toEqual(before);
  });

  it.each(['setSecret', 'finishSecret'] as const)('%s refuses a version that is still empty', async (name) => {
    await expect(world.step(name, begin())).rejects.toThrow(RotationError);
    expect(world.login('AWSCURRENT')).toEqual(first);
  });

  it('refuses a secret that holds the login of another role, and does not repeat it', async () => {
    const value = { username: 'data_out_worker', password: 'a-password-of-another-role' };
    world.secrets.put(world.secretArn, JSON.stringify(value));
    const refusal = await world.step('createSecret', begin()).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(MalformedSecretError);
    expect(String(refusal)).not.toContain(value.password);
  });

  it('testSecret passes with the empty version with which Secrets Manager tries a new schedule', async () => {
    const before = world.stages();
    await world.rotations.start();
    world.rotations.stop();
    expect(world.steps).toEqual(['testSecret']);
    expect(world.stages()).toEqual(before);
  });

  it('testSecret fails for a login that the database does not have', async () => {
    const versionId = begin();
    await world.step('createSecret', versionId);
    await test.sql(`drop owned by ${clone}`);
    await test.sql(`drop role ${clone}`);
    await expect(world.step('testSecret', versionId)).rejects.toThrow(`${clone} cannot log in to the database`);
  });

  it('setSecret does not change the login in use, if the secret was edited since', async () => {
    const versionId = begin();
    await world.step('createSecret', versionId);
    const edited = { username: clone, password: 'written by an operator' };
    await world.client.send(
      new PutSecretValueCommand({ SecretId: world.secretArn, SecretString: JSON.stringify(edited) }),
    );
    await prepareRole(test.dataApi(), role, edited.password, clone);
    await expect(world.step('setSecret', versionId)).rejects.toThrow(RotationError);
    await world.worksAs(edited);
  });
});

describe('a new login that does not work', () => {
  async function untilLastStep(): Promise<string> {
    const versionId = begin();
    for (const name of rotationSteps.slice(0, 3)) await world.step(name, versionId);
    return versionId;
  }

  it('is taken back, and the next attempt mends it', async () => {
    const before = world.secrets.get(world.secretArn).versionId;
    const versionId = await untilLastStep();
    await prepareRole(test.dataApi(), role, 'not the one in the secret', clone);
    await expect(world.step('finishSecret', versionId)).rejects.toThrow(`${clone} does not work with its new password`);
    expect(world.login('AWSCURRENT')).toEqual(first);
    expect(world.stages()).toEqual({ [before]: ['AWSCURRENT'], [versionId]: ['AWSPENDING', 'AWSPREVIOUS'] });
    await rotate(versionId);
    expect(world.stages()).toEqual({ [before]: ['AWSPREVIOUS'], [versionId]: ['AWSCURRENT'] });
    await world.worksAs(world.login('AWSCURRENT'));
  });

  it('is also taken back by a last step that is called again after it died', async () => {
    const before = world.secrets.get(world.secretArn).versionId;
    const versionId = await untilLastStep();
    await prepareRole(test.dataApi(), role, 'not the one in the secret', clone);
    world.calls.length = 0;
    // After the description of the secret and the new version's value comes the move.
    world.state.broken = { call: 2, when: 'after' };
    await expect(world.step('finishSecret', versionId)).rejects.toThrow('the function dies here');
    expect(world.login('AWSCURRENT').username).toBe(clone);
    await expect(world.step('finishSecret', versionId)).rejects.toThrow(RotationError);
    expect(world.stages()[before]).toEqual(['AWSCURRENT']);
  });

  it('is not taken for one that the Data API has not seen yet: the earlier one continues working', async () => {
    const versionId = await untilLastStep();
    world.state.cached = first;
    expect(await world.step('finishSecret', versionId)).toBe('unseen');
    expect(world.stages()[versionId]).toEqual(['AWSCURRENT']);
    await test.dataApi({ secretArn: world.secretArn }).execute('select 1 from data_out.archive_users');
  });
});

describe('a function that dies', () => {
  it('at any call of Secrets Manager leaves a secret that works, and the next attempt goes through', async () => {
    const attempt = async (versionId: string) => {
      world.calls.length = 0;
      await rotate(versionId);
    };
    await attempt(begin());
    const plainCalls = [...world.calls];
    expect(new Set(plainCalls)).toEqual(
      new Set(['DescribeSecret', 'GetSecretValue', 'PutSecretValue', 'UpdateSecretVersionStage']),
    );
    const moments = ['before', 'after'] as const;
    for (const call of plainCalls.keys()) {
      for (const when of everyRun ? moments : [moments[call % 2]!]) {
        const before = world.login('AWSCURRENT');
        const versionId = begin();
        world.state.broken = { call, when };
        await expect(attempt(versionId)).rejects.toThrow('the function dies here');
        await world.worksAs(world.login('AWSCURRENT'));
        await world.worksAs(before);
        await attempt(versionId);
        const after = world.login('AWSCURRENT');
        expect(after.username).not.toBe(before.username);
        expect(world.stages()[versionId]).toEqual(['AWSCURRENT']);
        await world.worksAs(after);
        await world.worksAs(before);
      }
    }
  });
});
