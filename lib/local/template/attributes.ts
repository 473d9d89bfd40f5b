import { accountId, secretSuffix } from './names.ts';

/** What the id and the attributes of a resource are made of. */
export interface Identity {
  readonly type: string;
  readonly name: string;
  readonly region: string;
  /** A property of the resource, resolved. */
  property(name: string): unknown;
  /** URL of an SQS queue on the local endpoint. */
  queueUrl(name: string): string;
}

type Attributes = Readonly<Record<string, (identity: Identity) => string>>;

const arn = (service: string, resource: (name: string) => string) => (identity: Identity) =>
  `arn:aws:${service}:${identity.region}:${accountId}:${resource(identity.name)}`;
const functionArn = arn('lambda', (name) => `function:${name}`);
const clusterArn = arn('rds', (name) => `cluster:${name}`);
const queueArn = arn('sqs', (name) => name);
const bucketArn = ({ name }: Identity) => `arn:aws:s3:::${name}`;
const roleArn = ({ name, property }: Identity) =>
  `arn:aws:iam::${accountId}:role${String(property('Path') ?? '/')}${name}`;
const secretArn = arn('secretsmanager', (name) => `secret:${name}-${secretSuffix(name)}`);
const masterSecretArn = arn('secretsmanager', (name) => `secret:rds!${name}-${secretSuffix(name)}`);
const versionArn = ({ property, region }: Identity) => {
  const nameOrArn = String(property('FunctionName'));
  return `${nameOrArn.startsWith('arn:') ? nameOrArn : `arn:aws:lambda:${region}:${accountId}:function:${nameOrArn}`}:1`;
};
const name = (identity: Identity) => identity.name;

/** `Ref` as key `''`, and the attributes of `Fn::GetAtt` that occur. */
const attributes: Readonly<Record<string, Attributes>> = {
  'AWS::ApiGateway::DomainName': { '': name, RegionalDomainName: (identity) => `${identity.name}.invalid` },
  'AWS::ApiGateway::RestApi': { '': name, RootResourceId: (identity) => `${identity.name}-root` },
  'AWS::EC2::SecurityGroup': { '': name, GroupId: name },
  'AWS::Events::Rule': { '': name, Arn: arn('events', (rule) => `rule/${rule}`) },
  'AWS::IAM::Role': { '': name, Arn: roleArn },
  'AWS::Lambda::Function': { '': name, Arn: functionArn },
  'AWS::Lambda::Version': { '': versionArn },
  'AWS::Logs::LogGroup': { '': name, Arn: arn('logs', (group) => `log-group:${group}:*`) },
  'AWS::KMS::Key': { '': name, Arn: arn('kms', (key) => `key/${key}`) },
  'AWS::RDS::DBCluster': { '': name, DBClusterArn: clusterArn, 'MasterUserSecret.SecretArn': masterSecretArn },
  'AWS::S3::Bucket': { '': name, Arn: bucketArn },
  'AWS::SNS::Topic': { '': arn('sns', (topic) => topic) },
  'AWS::SQS::Queue': {
    '': (identity) => identity.queueUrl(identity.name),
    Arn: queueArn,
    QueueName: name,
  },
  'AWS::SecretsManager::Secret': { '': secretArn },
};

/** Value of an attribute, `''` for `Ref`; `undefined` when this engine does not know it. */
export function attributeOf(identity: Identity, attribute: string): string | undefined {
  const known = attributes[identity.type];
  if (known) return known[attribute]?.(identity);
  if (attribute === '') return identity.name;
  const service = identity.type.split('::')[1]?.toLowerCase() ?? 'local';
  return attribute === 'Arn' ? arn(service, (resource) => resource)(identity) : undefined;
}
