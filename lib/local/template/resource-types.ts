/** Resource types that the engine knows, by service: those that it runs, and those of which only names and ARNs resolve. */
const known = [
  /^AWS::ApiGateway::(Account|Authorizer|BasePathMapping|Deployment|DomainName|GatewayResponse|Method)$/,
  /^AWS::ApiGateway::(RequestValidator|Resource|RestApi|Stage)$/,
  /^AWS::Events::Rule$/,
  /^AWS::IAM::(Policy|Role)$/,
  /^AWS::Lambda::(EventSourceMapping|Function|Permission|Version)$/,
  /^AWS::RDS::(DBCluster|DBClusterParameterGroup|DBInstance|DBSubnetGroup)$/,
  /^AWS::S3::Bucket(Policy)?$/,
  /^AWS::SQS::Queue(Policy)?$/,
  /^AWS::SecretsManager::Secret$/,
  // Aliases of keys, networks, observation and deployment change nothing that runs here.
  /^AWS::(CloudWatch|EC2|KMS|Logs|SNS)::/,
  /^AWS::CDK::Metadata$/,
  /^Custom::Trigger$/,
];

export function isKnownType(type: string): boolean {
  return known.some((pattern) => pattern.test(type));
}
