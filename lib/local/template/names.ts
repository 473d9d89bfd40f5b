import { createHash } from 'node:crypto';

/** The account that the embedded S3 and SQS engine puts into every ARN. */
export const accountId = '000000000000';
/** Region of the local resources when the stacks name none. */
export const defaultRegion = 'eu-north-1';

/** ARN of a stack. */
export function stackId(stackName: string, region: string): string {
  return `arn:aws:cloudformation:${region}:${accountId}:stack/${stackName}/local`;
}

/** Property that fixes the physical name, by resource type. */
export const nameProperties: Readonly<Record<string, string>> = {
  'AWS::S3::Bucket': 'BucketName',
  'AWS::SQS::Queue': 'QueueName',
  'AWS::Lambda::Function': 'FunctionName',
  'AWS::IAM::Role': 'RoleName',
  'AWS::SecretsManager::Secret': 'Name',
  'AWS::RDS::DBCluster': 'DBClusterIdentifier',
  'AWS::ApiGateway::DomainName': 'DomainName',
  'AWS::ApiGateway::Stage': 'StageName',
  'AWS::Logs::LogGroup': 'LogGroupName',
};

/**
 * The physical name of a resource to which the template gives none: always the same for the same stack and logical id,
 * so that a later run finds its data again.
 */
export function generatedName(stackName: string, logicalId: string, type: string): string {
  const unique = digest(`${stackName}/${logicalId}`);
  if (type.startsWith('AWS::ApiGateway::')) return unique.slice(0, 10);
  // Bucket and cluster names are lower-case and at most 63 characters; the shortest limit of the others is 64.
  // Of two long parts CloudFormation keeps half of the name each, so policies can know a role by the beginning of both.
  const ofStack = stackName.slice(0, Math.max(25, 49 - logicalId.length));
  const readable = `${ofStack}-${logicalId}`.slice(0, 50).replace(/-+$/, '');
  const name = `${readable}-${unique.slice(0, 8)}`;
  return type === 'AWS::S3::Bucket' || type.startsWith('AWS::RDS::') ? name.toLowerCase() : name;
}

/** Six characters that Secrets Manager adds to the name in a secret's ARN. */
export function secretSuffix(name: string): string {
  return digest(name).slice(0, 6);
}

function digest(value: string): string {
  return createHash('sha256').update(value).digest('hex');
}

/** Construct ids that do not tell one construct from another. */
const generic = new Set(['Api', 'Default', 'Function', 'Handler', 'Resource']);

/** A name for people, from a construct's path: `Stack/Functions/StageFile/Function/Resource` → `stage-file`. */
export function shortName(path: string): string {
  const [stack, ...ids] = path.split('/');
  const name = ids.filter((id) => !generic.has(id)).at(-1) ?? stack ?? path;
  return name.replace(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase();
}
