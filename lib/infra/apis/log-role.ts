import { RemovalPolicy } from 'aws-cdk-lib';
import { CfnAccount } from 'aws-cdk-lib/aws-apigateway';
import { ManagedPolicy, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { acknowledge } from '../security/rules.ts';

/**
 * The role through which API Gateway writes the logs of all REST APIs of the account in this region. A stage with an
 * access log cannot be made before the account has one. It is kept when the stack is deleted, because other APIs may
 * use it by then.
 */
export class ApiGatewayLogRole extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id);
    const policy = 'service-role/AmazonAPIGatewayPushToCloudWatchLogs';
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('apigateway.amazonaws.com'),
      description: 'Lets API Gateway write the access logs of this account and region',
      managedPolicies: [ManagedPolicy.fromAwsManagedPolicyName(policy)],
    });
    role.applyRemovalPolicy(RemovalPolicy.RETAIN);
    acknowledge(role, {
      [`AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/${policy}]`]:
        'API Gateway accepts a role for the whole account only with the permissions of this AWS policy.',
    });
    new CfnAccount(this, 'Account', { cloudWatchRoleArn: role.roleArn }).applyRemovalPolicy(RemovalPolicy.RETAIN);
  }
}
