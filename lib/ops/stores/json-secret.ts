import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  type PutSecretValueCommandOutput,
  type SecretsManagerClient,
  UpdateSecretVersionStageCommand,
} from '@aws-sdk/client-secrets-manager';
import { errorName, storeFailure } from '../../service/stores/aws-failure.ts';
import { MalformedSecretError } from '../../service/stores/secrets/cached-secret.ts';

const what = 'Secrets Manager';

/** Holds a version until it becomes the current one. */
const draft = 'DATA_OUT_DRAFT';

/** Another process has changed the secret since it was read: read it and change it again. */
export class SecretChangedError extends Error {
  override readonly name = 'SecretChangedError';
  constructor() {
    super('another process changed the secret meanwhile; nothing was written');
  }
}

/** A secret that holds JSON, as an operator edits it, one change at a time. Functions read secrets by `CachedSecret`. */
export class JsonSecret {
  readonly #client: SecretsManagerClient;
  readonly #secretArn: string;
  /** The version that was read last. */
  #versionId: string | undefined;

  constructor(options: { readonly client: SecretsManagerClient; readonly secretArn: string }) {
    this.#client = options.client;
    this.#secretArn = options.secretArn;
  }

  /** The parsed value; `undefined` for a secret that never had one. @throws MalformedSecretError when it is not JSON */
  async read(): Promise<unknown> {
    let text: string | undefined;
    try {
      const answer = await this.#client.send(new GetSecretValueCommand({ SecretId: this.#secretArn }));
      text = answer.SecretString;
      this.#versionId = answer.VersionId;
    } catch (error) {
      if (errorName(error) === 'ResourceNotFoundException') return undefined;
      throw storeFailure(error, what);
    }
    if (text === undefined) return undefined;
    try {
      return JSON.parse(text);
    } catch {
      // Without the cause: a syntax error quotes the text around it.
      throw new MalformedSecretError(`the secret ${this.#secretArn} is not JSON`);
    }
  }

  /**
   * Make `value` the current one, if the secret is as it was read. Secrets Manager moves a stage from a given version only
   * (API reference, UpdateSecretVersionStage), so of two changes at the same time one fails, and none is lost.
   * @throws SecretChangedError when another version has become the current one since {@link read}
   */
  async write(value: unknown): Promise<void> {
    const [SecretId, SecretString] = [this.#secretArn, JSON.stringify(value)];
    const read = this.#versionId;
    if (read === undefined) {
      await this.#send(new PutSecretValueCommand({ SecretId, SecretString }));
      return;
    }
    const put = await this.#send(new PutSecretValueCommand({ SecretId, SecretString, VersionStages: [draft] }));
    const stage = { SecretId, VersionStage: 'AWSCURRENT', RemoveFromVersionId: read, MoveToVersionId: put.VersionId };
    await this.#client.send(new UpdateSecretVersionStageCommand(stage)).catch(async (error: unknown) => {
      if (!isOfVersions(error)) throw storeFailure(error, what);
      // The SDK repeats a call whose answer was lost, and then finds the stage moved by itself.
      await this.read();
      if (this.#versionId !== put.VersionId) throw new SecretChangedError();
    });
    this.#versionId = put.VersionId;
  }

  #send(command: PutSecretValueCommand): Promise<PutSecretValueCommandOutput> {
    return this.#client.send(command).catch((error: unknown) => {
      throw storeFailure(error, what);
    });
  }
}

/** The stage is at another version, or a draft of another process has taken the place of this one. */
function isOfVersions(error: unknown): boolean {
  return ['InvalidParameterException', 'ResourceNotFoundException'].includes(errorName(error) ?? '');
}

/** A secret that holds JSON. */
export type EditableSecret = Pick<JsonSecret, 'read' | 'write'>;
