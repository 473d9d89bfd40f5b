import { randomInt } from 'node:crypto';
import {
  DescribeSecretCommand,
  PutSecretValueCommand,
  type SecretsManagerClient,
  UpdateSecretVersionStageCommand,
} from '@aws-sdk/client-secrets-manager';
import * as z from 'zod';
import { type DatabaseLogin, type DatabaseRole, loginsOf } from '../../../../contract/database-roles.ts';
import { errorName } from '../../aws-failure.ts';
import { CachedSecret } from '../../secrets.ts';
import type { DataApi } from '../data-api.ts';
import { currentLogin, prepareRole, type RoleLogin, roleLogin } from './database-role.ts';

/** The steps of a rotation, in the order in which Secrets Manager calls them. Each may be called again. */
export const rotationSteps = ['createSecret', 'setSecret', 'testSecret', 'finishSecret'] as const;
export type RotationStep = (typeof rotationSteps)[number];

/** A rotation cannot continue. The secret still has a login that works. */
export class RotationError extends Error {
  override readonly name = 'RotationError';
}

export interface RotationOptions {
  readonly client: SecretsManagerClient;
  readonly secretArn: string;
  readonly role: DatabaseRole;
  /** The database, as the owner of its tables. */
  readonly owner: DataApi;
  /** The database, as the functions of the role see it: by the secret. Its calls should give up within 20 seconds. */
  readonly user: DataApi;
  readonly now?: () => number;
  readonly sleep?: (milliseconds: number) => Promise<void>;
}

/** What a step did: `unseen` when the Data API still logs in with the earlier version of the secret, which works as well. */
export type RotationOutcome = 'done' | 'nothing to do' | 'unseen';

/** How long the last step looks for the new login behind the Data API. */
const patienceMs = 20_000;
const passwordLength = 48;
const alphanumeric = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/**
 * One step of the rotation of a role's secret. The two logins of the role take turns, so the login that functions use is
 * never changed: docs/decisions/deployment.md#two-logins-per-role.
 *
 * @param versionId of the new version of the secret
 * @throws RotationError when the version is not staged for rotation, or the new login does not work
 * @throws MalformedSecretError
 */
export async function rotateLogin(
  step: RotationStep,
  versionId: string,
  options: RotationOptions,
): Promise<RotationOutcome> {
  const { client, secretArn } = options;
  const { VersionIdsToStages: stages = {} } = await client.send(new DescribeSecretCommand({ SecretId: secretArn }));
  const has = (stage: string) => stages[versionId]?.includes(stage) ?? false;
  const idOf = (stage: string) => Object.keys(stages).find((id) => stages[id]?.includes(stage));
  if (!has('AWSPENDING')) {
    // A step that is called again, late.
    if (has('AWSCURRENT')) return 'nothing to do';
    throw new RotationError(`the version ${versionId} of ${secretArn} is not staged for rotation`);
  }
  const rotation = new Rotation(versionId, options);
  if (step === 'finishSecret') {
    const [from, back] = has('AWSCURRENT') ? [undefined, idOf('AWSPREVIOUS')] : Array(2).fill(idOf('AWSCURRENT'));
    return await rotation.finish(from, back);
  }
  if (has('AWSCURRENT')) return 'nothing to do';
  await rotation[step]();
  return 'done';
}

class Rotation {
  readonly #versionId: string;
  readonly #options: RotationOptions;

  constructor(versionId: string, options: RotationOptions) {
    this.#versionId = versionId;
    this.#options = options;
  }

  /** Give the version the other login, with a new password. */
  async createSecret(): Promise<void> {
    const { client, secretArn, role } = this.#options;
    const current = await this.#current();
    if (await this.#pending()) return;
    const login = {
      username: loginsOf(role).find((name) => name !== current.username),
      password: Array.from({ length: passwordLength }, () => alphanumeric[randomInt(alphanumeric.length)]).join(''),
    };
    await client.send(
      new PutSecretValueCommand({
        SecretId: secretArn,
        ClientRequestToken: this.#versionId,
        SecretString: JSON.stringify(login),
        VersionStages: ['AWSPENDING'],
      }),
    );
  }

  /** Make the login in the database, with the rights of the role. */
  async setSecret(): Promise<void> {
    const { owner, role, secretArn } = this.#options;
    const current = await this.#current();
    const pending = await this.#pending();
    if (!pending) throw new RotationError(`the version ${this.#versionId} of ${secretArn} is still empty`);
    if (pending.username === current.username) {
      // The secret was edited by hand since. Its functions would be locked out.
      throw new RotationError(`${secretArn} came to name ${pending.username} while it was rotated to this login`);
    }
    await prepareRole(owner, role, pending.password, pending.username);
  }

  /**
   * Ask the database whether it has the login. The Data API logs in with the current version only, so the password itself
   * is tried in the last step. Secrets Manager calls this step alone, with an empty version, when the schedule changes.
   */
  async testSecret(): Promise<void> {
    const { username } = (await this.#pending()) ?? (await this.#current());
    const [row] = await this.#options.owner.query(
      z.object({ may_log_in: z.boolean() }),
      `select rolcanlogin and (rolvaliduntil is null or rolvaliduntil > now()) as may_log_in
       from pg_roles where rolname = :login`,
      { login: username },
    );
    if (!row?.may_log_in) throw new RotationError(`${username} cannot log in to the database`);
  }

  /**
   * Make the version current, and try it. If it does not work, the version before it is made current again.
   *
   * @param from id of the current version, `undefined` if it is this one
   * @param back id of the version to go back to
   */
  async finish(from: string | undefined, back: string | undefined): Promise<RotationOutcome> {
    const versionId = this.#versionId;
    const pending = await this.#pending();
    if (!pending) throw new RotationError(`the version ${versionId} of ${this.#options.secretArn} is still empty`);
    if (from !== undefined) await this.#move('AWSCURRENT', { from, to: versionId });
    let isSeen: boolean;
    try {
      isSeen = await this.#isSeen(pending.username);
    } catch (error) {
      if (back !== undefined) await this.#move('AWSCURRENT', { from: versionId, to: back });
      throw new RotationError(`${pending.username} does not work with its new password`, { cause: error });
    }
    // Otherwise a change by hand, which moves AWSCURRENT on, would look like a rotation that has not ended.
    await this.#move('AWSPENDING', { from: versionId });
    return isSeen ? 'done' : 'unseen';
  }

  /** Whether the Data API logs in by this name. It may keep what it has read of the secret for some time. */
  async #isSeen(username: DatabaseLogin): Promise<boolean> {
    const { user, now = Date.now, sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms)) } = this.#options;
    for (const end = now() + patienceMs; ; await sleep(1000)) {
      const [row] = await user.query(z.object({ login: z.string() }), 'select cast(session_user as text) as login');
      if (row?.login === username) return true;
      if (now() >= end) return false;
    }
  }

  #current(): Promise<RoleLogin> {
    return currentLogin(this.#options, this.#options.role);
  }

  async #pending(): Promise<RoleLogin | undefined> {
    const { client, secretArn, role } = this.#options;
    const content = { shape: roleLogin(role), parse: (login: RoleLogin) => login, lifetimeMs: 0 };
    const version = new CachedSecret({ client, secretArn, versionId: this.#versionId }, content);
    return await version.get().catch((error: unknown) => {
      if (errorName(error) === 'ResourceNotFoundException') return undefined;
      throw error;
    });
  }

  async #move(stage: 'AWSCURRENT' | 'AWSPENDING', { from, to }: { from: string; to?: string }): Promise<void> {
    const { client, secretArn: SecretId } = this.#options;
    await client.send(
      new UpdateSecretVersionStageCommand({
        SecretId,
        VersionStage: stage,
        RemoveFromVersionId: from,
        MoveToVersionId: to,
      }),
    );
  }
}
