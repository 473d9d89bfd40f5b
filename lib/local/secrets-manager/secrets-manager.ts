import type { LocalAccount } from '../account/account.ts';
import {
  type BufferedService,
  type JsonObject,
  jsonReply,
  parseJson,
  targetAction,
} from '../endpoint/buffered-service.ts';
import { AwsError } from '../endpoint/errors.ts';
import { list } from '../template/template.ts';
import type { Rotations } from './rotations.ts';
import { nameOf, type Secrets } from './secrets.ts';

/** Longest value of a secret, in bytes. */
const longestSecret = 65_536;

/** Secrets Manager, as far as this service uses it. */
export function secretsManager(
  secrets: Secrets,
  rotations: Rotations,
  { deletedSecrets }: Pick<LocalAccount, 'deletedSecrets'>,
): BufferedService {
  return {
    parse(_path, headers, body) {
      const action = targetAction(headers, 'secretsmanager');
      const input = parseJson(body);
      if (action === 'ListSecrets')
        return { action, input, permissions: [{ action: 'secretsmanager:ListSecrets', resource: '*' }] };
      const resource = secrets.arnOf(String(input.SecretId));
      const permissions = [{ action: `secretsmanager:${action}`, resource }];
      const rotation = action === 'RotateSecret' ? rotations.rule(resource)?.functionArn : undefined;
      // API reference, RotateSecret: the caller needs this permission, too.
      if (rotation !== undefined) permissions.push({ action: 'lambda:InvokeFunction', resource: rotation });
      return { action, input, permissions };
    },
    async handle(action, input) {
      if (action === 'ListSecrets') {
        const all = input.IncludePlannedDeletion === true;
        const listed = secrets.arns().filter((arn) => all || !deletedSecrets.has(arn));
        return jsonReply({ SecretList: listed.map((arn) => ({ ARN: arn, Name: nameOf(arn) })) });
      }
      const operation = operations[action];
      if (!operation) {
        throw new AwsError(400, 'UnknownOperationException', `${action} is not known to the local Secrets Manager`);
      }
      const arn = secrets.arnOf(String(input.SecretId));
      const deleted = deletedSecrets.get(arn);
      if (deleted && action !== 'DescribeSecret') {
        throw new AwsError(400, 'InvalidRequestException', 'the secret is marked for deletion');
      }
      const about = { ARN: arn, Name: nameOf(arn), ...(deleted && { DeletedDate: deleted.getTime() / 1000 }) };
      return jsonReply({ ...about, ...operation({ secrets, rotations }, arn, input) });
    },
  };
}

type Operation = (
  state: { readonly secrets: Secrets; readonly rotations: Rotations },
  arn: string,
  input: JsonObject,
) => JsonObject;

const operations: Readonly<Record<string, Operation>> = {
  GetSecretValue({ secrets }, arn, { VersionId, VersionStage }) {
    const version = secrets.get(arn, optional(VersionId), optional(VersionStage));
    return {
      VersionId: version.versionId,
      SecretString: version.value,
      VersionStages: version.stages,
      CreatedDate: seconds(version.createdAt),
    };
  },
  DescribeSecret({ secrets, rotations }, arn) {
    const rule = rotations.rule(arn);
    const next = rotations.nextDate(arn);
    return {
      CreatedDate: seconds(secrets.get(arn).createdAt),
      VersionIdsToStages: Object.fromEntries(secrets.versions(arn).map(({ versionId, stages }) => [versionId, stages])),
      ...(rule && {
        RotationEnabled: true,
        RotationLambdaARN: rule.functionArn,
        RotationRules: { AutomaticallyAfterDays: rule.days },
      }),
      ...(next && { NextRotationDate: next.getTime() / 1000 }),
    };
  },
  PutSecretValue({ secrets }, arn, { SecretString, ClientRequestToken, VersionStages }) {
    if (typeof SecretString !== 'string') {
      throw new AwsError(400, 'InvalidParameterException', 'the local Secrets Manager keeps a SecretString only');
    }
    if (Buffer.byteLength(SecretString) > longestSecret) {
      throw new AwsError(400, 'ValidationException', `secretString has at most ${longestSecret} bytes`);
    }
    const stages = VersionStages === undefined ? ['AWSCURRENT'] : list(VersionStages).map(String);
    const version = secrets.put(arn, SecretString, optional(ClientRequestToken), stages);
    return { VersionId: version.versionId, VersionStages: version.stages };
  },
  UpdateSecretVersionStage({ secrets }, arn, { VersionStage, RemoveFromVersionId, MoveToVersionId }) {
    secrets.move(arn, String(VersionStage), optional(RemoveFromVersionId), optional(MoveToVersionId));
    return {};
  },
  RotateSecret({ rotations }, arn, { ClientRequestToken, SecretId: _, ...others }) {
    const unknown = Object.keys(others)[0];
    if (unknown !== undefined) {
      const message = `the local Secrets Manager takes ${unknown} of a rotation from the template only`;
      throw new AwsError(400, 'InvalidParameterException', message);
    }
    return { VersionId: rotations.rotate(arn, optional(ClientRequestToken)) };
  },
};

const optional = (value: unknown): string | undefined => (value === undefined ? undefined : String(value));
const seconds = (isoTime: string): number => Date.parse(isoTime) / 1000;
