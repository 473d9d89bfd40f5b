import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  type SecretsManagerClient,
  UpdateSecretVersionStageCommand,
} from '@aws-sdk/client-secrets-manager';
import { parseJson } from '../../common/untrusted-json.ts';
import { errorName, storeFailure } from '../../service/stores/aws-failure.ts';
import { MalformedSecretError } from '../../service/stores/secrets.ts';

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
export function jsonSecret({
  client,
  secretArn: SecretId,
}: {
  readonly client: SecretsManagerClient;
  readonly secretArn: string;
}) {
  /** The version that was read last. */
  let versionId: string | undefined;
  const refused = (error: unknown) => {
    throw storeFailure(error, what);
  };
  /** The parsed value; `undefined` for a secret that never had one. @throws MalformedSecretError when it is not JSON */
  const read = async (): Promise<unknown> => {
    const answer = await client.send(new GetSecretValueCommand({ SecretId })).catch((error: unknown) => {
      return errorName(error) === 'ResourceNotFoundException' ? undefined : refused(error);
    });
    if (answer) versionId = answer.VersionId;
    if (answer?.SecretString === undefined) return undefined;
    const value = parseJson(answer.SecretString);
    if (value === undefined) throw new MalformedSecretError(`the secret ${SecretId} is not JSON`);
    return value;
  };
  /**
   * Make `value` the current one, if the secret is as it was read. Secrets Manager moves a stage from a given version only
   * (API reference, UpdateSecretVersionStage), so of two changes at the same time one fails, and none is lost.
   * @throws SecretChangedError when another version has become the current one since it was read
   */
  const write = async (value: unknown): Promise<void> => {
    const put = { SecretId, SecretString: JSON.stringify(value), ...(versionId && { VersionStages: [draft] }) };
    const { VersionId: written } = await client.send(new PutSecretValueCommand(put)).catch(refused);
    if (versionId === undefined) return;
    const stage = { SecretId, VersionStage: 'AWSCURRENT', RemoveFromVersionId: versionId, MoveToVersionId: written };
    await client.send(new UpdateSecretVersionStageCommand(stage)).catch(async (error: unknown) => {
      // The stage is at another version, or a draft of another process has taken the place of this one.
      const isOfVersions = /^(InvalidParameter|ResourceNotFound)Exception$/.test(errorName(error));
      if (!isOfVersions) throw storeFailure(error, what);
      // The SDK repeats a call whose answer was lost, and then finds that it moved the stage itself.
      await read();
      if (versionId !== written) throw new SecretChangedError();
    });
    versionId = written;
  };
  return { read, write };
}

/** A secret that holds JSON. */
export type EditableSecret = ReturnType<typeof jsonSecret>;
