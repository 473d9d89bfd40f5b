/** Resource types that the engine runs. */
export const supportedTypes: ReadonlySet<string> = new Set([
  'AWS::ApiGateway::Authorizer',
  'AWS::ApiGateway::BasePathMapping',
  'AWS::ApiGateway::Deployment',
  'AWS::ApiGateway::DomainName',
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
  'AWS::RDS::DBClusterParameterGroup',
  'AWS::S3::Bucket',
  'AWS::S3::BucketPolicy',
  'AWS::SQS::Queue',
  'AWS::SQS::QueuePolicy',
  'AWS::SecretsManager::ResourcePolicy',
  'AWS::SecretsManager::RotationSchedule',
  'AWS::SecretsManager::Secret',
  'AWS::SecretsManager::SecretTargetAttachment',
  'AWS::WAFv2::WebACL',
  'AWS::WAFv2::WebACLAssociation',
  'Custom::Trigger',
]);

/**
 * Resource types that the engine ignores, whole services or single types: aliases of keys, networks, observation,
 * deployment. Only their names and ARNs resolve.
 */
const ignored = [
  /^AWS::CloudTrail::/,
  /^AWS::KMS::/,
  /^AWS::EC2::/,
  /^AWS::Logs::/,
  /^AWS::CloudWatch::/,
  /^AWS::SNS::/,
  /^AWS::Route53::RecordSet$/,
  /^AWS::WAFv2::LoggingConfiguration$/,
  /^AWS::CDK::Metadata$/,
  /^AWS::ApiGateway::Account$/,
  /^AWS::Lambda::EventInvokeConfig$/,
  /^AWS::RDS::(DBInstance|DBSubnetGroup|DBParameterGroup)$/,
  /^Custom::(S3AutoDeleteObjects|LogRetention|VpcRestrictDefaultSG)$/,
];

export function isIgnoredType(type: string): boolean {
  return ignored.some((pattern) => pattern.test(type));
}
