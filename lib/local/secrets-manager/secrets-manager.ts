import { type BufferedService, type JsonObject, jsonService, type Operation } from '../endpoint/buffered-service.ts';
import { AwsError } from '../endpoint/errors.ts';
import { list } from '../template/template.ts';
import type { Secrets } from './secrets.ts';

/** Longest value of a secret, in bytes. */
const longestSecret = 65_536;

/** Secrets Manager, as far as this service uses it. */
export function secretsManager(secrets: Secrets): BufferedService {
  const resource = ({ SecretId }: JsonObject) => String(SecretId);
  /** An operation on a secret. @param run gets its ARN */
  const onSecret = (run: (arn: string, input: JsonObject) => JsonObject): Operation<JsonObject, JsonObject> => ({
    resource,
    run(input) {
      const arn = resource(input);
      return { ARN: arn, ...run(arn, input) };
    },
  });
  return jsonService(
    { target: 'secretsmanager', prefix: 'secretsmanager' },
    {
      GetSecretValue: onSecret((arn, { VersionId, VersionStage }) => {
        if (VersionId !== undefined || VersionStage !== undefined) {
          throw new AwsError(
            400,
            'InvalidParameterException',
            'the local Secrets Manager gives the current version only',
          );
        }
        const { versionId, value, stages } = secrets.get(arn);
        return { VersionId: versionId, SecretString: value, VersionStages: stages };
      }),
      PutSecretValue: onSecret((arn, { SecretString, ClientRequestToken, VersionStages }) => {
        if (typeof SecretString !== 'string') {
          throw new AwsError(400, 'InvalidParameterException', 'the local Secrets Manager keeps a SecretString only');
        }
        if (Buffer.byteLength(SecretString) > longestSecret) {
          throw new AwsError(400, 'ValidationException', `secretString has at most ${longestSecret} bytes`);
        }
        const stages = VersionStages === undefined ? ['AWSCURRENT'] : list(VersionStages).map(String);
        const version = secrets.put(arn, SecretString, optional(ClientRequestToken), stages);
        return { VersionId: version.versionId, VersionStages: version.stages };
      }),
      UpdateSecretVersionStage: onSecret((arn, { VersionStage, RemoveFromVersionId, MoveToVersionId }) => {
        secrets.move(arn, String(VersionStage), optional(RemoveFromVersionId), optional(MoveToVersionId));
        return {};
      }),
    },
  );
}

const optional = (value: unknown): string | undefined => (value === undefined ? undefined : String(value));
