/** Resource types that the engine runs. */
export const supportedTypes: ReadonlySet<string> = new Set([
  'AWS::ApiGateway::Authorizer',
  'AWS::ApiGateway::Deployment',
  'AWS::ApiGateway::GatewayResponse',
  'AWS::ApiGateway::Method',
  'AWS::ApiGateway::Model',
  'AWS::ApiGateway::RequestValidator',
  'AWS::ApiGateway::Resource',
  'AWS::ApiGateway::RestApi',
  'AWS::ApiGateway::Stage',
  'AWS::Events::Rule',
  'AWS::IAM::ManagedPolicy',
  'AWS::IAM::Policy',
  'AWS::IAM::Role',
  'AWS::KMS::Key',
  'AWS::Lambda::EventSourceMapping',
  'AWS::Lambda::Function',
  'AWS::Lambda::Permission',
  'AWS::Lambda::Version',
  'AWS::RDS::DBCluster',
  'AWS::S3::Bucket',
  'AWS::S3::BucketPolicy',
  'AWS::SQS::Queue',
  'AWS::SQS::QueuePolicy',
  'AWS::SecretsManager::ResourcePolicy',
  'AWS::SecretsManager::Secret',
  'AWS::SecretsManager::SecretTargetAttachment',
  'Custom::Trigger',
]);

/**
 * Resource types that the engine ignores, whole services or single types: aliases of keys, networks, observation,
 * deployment. Only their names and ARNs resolve.
 */
const ignored = [
  /^AWS::KMS::/,
  /^AWS::EC2::/,
  /^AWS::Logs::/,
  /^AWS::CloudWatch::/,
  /^AWS::SNS::/,
  /^AWS::WAFv2::/,
  /^AWS::CDK::Metadata$/,
  /^AWS::ApiGateway::Account$/,
  /^AWS::Lambda::EventInvokeConfig$/,
  /^AWS::RDS::(DBInstance|DBSubnetGroup|DBClusterParameterGroup|DBParameterGroup)$/,
  /^AWS::SecretsManager::RotationSchedule$/,
  /^Custom::(S3AutoDeleteObjects|LogRetention|VpcRestrictDefaultSG)$/,
];

export function isIgnoredType(type: string): boolean {
  return ignored.some((pattern) => pattern.test(type));
}
