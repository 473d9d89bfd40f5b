import { type BufferedService, jsonService, queryService } from '../endpoint/buffered-service.ts';
import { AwsError } from '../endpoint/errors.ts';
import type { Deployment } from '../template/deployment.ts';
import { accountId, stackId } from '../template/names.ts';
import { list } from '../template/template.ts';
import type { AccountCluster, LocalAccount } from './account.ts';

/** The services that answer what an operator asks about the account, by their names in a signature's scope. */
export function accountServices(account: LocalAccount, deployment: Deployment) {
  return {
    acm: acm(account),
    apigateway: apiGateway(account, deployment.region),
    cloudcontrolapi: cloudControl(account),
    cloudformation: cloudFormation(deployment, account),
    cloudtrail: cloudTrail(account),
    lambda: lambda(account),
    rds: rds(account),
    servicequotas: serviceQuotas(account, deployment.region),
    sns: sns(deployment),
  };
}

/** Certificate Manager, as far as the tools use it. */
function acm({ certificates }: Pick<LocalAccount, 'certificates'>): BufferedService {
  return jsonService(
    { target: 'CertificateManager', prefix: 'acm' },
    {
      DescribeCertificate: {
        resource: ({ CertificateArn }) => String(CertificateArn),
        run({ CertificateArn: arn }) {
          const found = certificates.get(String(arn));
          if (!found) throw new AwsError(400, 'ResourceNotFoundException', `Could not find certificate ${arn}.`);
          const { status, names } = found;
          const certificate = { CertificateArn: arn, DomainName: names[0], SubjectAlternativeNames: names };
          return { Certificate: { ...certificate, Status: status } };
        },
      },
    },
  );
}

const domain = /^\/domainnames\/([^/]+)$/;

/** API Gateway's own API, as far as the tools use it: `GET` of `/account`, `/restapis` with all APIs on one page, and `/domainnames/NAME`. */
function apiGateway(
  account: Pick<LocalAccount, 'apiGatewayLogRole' | 'domains' | 'restApis'>,
  region: string,
): BufferedService {
  const replies: Readonly<Record<string, () => object>> = {
    '/account': () => ({ cloudwatchRoleArn: account.apiGatewayLogRole }),
    '/restapis': () => ({
      item: [...account.restApis].map(([id, types]) => ({ id, endpointConfiguration: { types } })),
    }),
  };
  return {
    parse(path, _headers, _body, _query, method) {
      if (method !== 'GET' || !(path in replies || domain.test(path))) {
        throw new AwsError(404, 'NotFoundException', `${method} ${path} is not known to the local API Gateway`);
      }
      const permission = { action: 'apigateway:GET', resource: `arn:aws:apigateway:${region}::${path}` };
      return { action: `GET ${path}`, input: { path }, permissions: [permission] };
    },
    async handle(_action, { path }) {
      const [, name] = domain.exec(String(path)) ?? [];
      if (name !== undefined && !account.domains.has(name)) {
        throw new AwsError(404, 'NotFoundException', 'Invalid domain name identifier specified');
      }
      const reply = name === undefined ? replies[String(path)]?.() : { domainName: name };
      return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(reply) };
    },
  };
}

/** Lambda's own API, as far as the tools use it. */
function lambda(account: Pick<LocalAccount, 'concurrency'>): BufferedService {
  return {
    parse(path, _headers, _body, _query, method) {
      if (method !== 'GET' || path !== '/2016-08-19/account-settings') {
        throw new AwsError(404, 'UnknownOperationException', `no operation ${method} ${path}`);
      }
      const permission = { action: 'lambda:GetAccountSettings', resource: '*' };
      return { action: 'GetAccountSettings', input: {}, permissions: [permission] };
    },
    async handle() {
      const { all, unreserved } = account.concurrency;
      const limit = { ConcurrentExecutions: all, UnreservedConcurrentExecutions: unreserved };
      const headers = { 'content-type': 'application/json' };
      return { status: 200, headers, body: JSON.stringify({ AccountLimit: limit }) };
    },
  };
}

/** What Cloud Control can list, with the right that the service itself asks for. */
const listed = {
  'AWS::EC2::VPC': { right: 'ec2:DescribeVpcs', member: 'VpcId', of: 'networks' },
  'AWS::Logs::ResourcePolicy': { right: 'logs:DescribeResourcePolicies', member: 'PolicyName', of: 'logPolicies' },
} as const;

/** Cloud Control, as far as the tools use it: lists on one page, and service-linked roles. */
function cloudControl(account: Pick<LocalAccount, 'logPolicies' | 'networks' | 'serviceRoles'>): BufferedService {
  // The API asks in the name of the caller, who also needs the right of the service.
  const permissions = (action: string, type: unknown, right: string | undefined) => {
    if (!right) {
      throw new AwsError(400, 'UnsupportedActionException', `the local Cloud Control knows no ${action} of ${type}`);
    }
    return [`cloudformation:${action}`, right].map((each) => ({ action: each, resource: '*' }));
  };
  return jsonService(
    { target: 'CloudApiService', prefix: 'cloudformation', version: '1.0' },
    {
      ListResources: {
        permissions: ({ TypeName: type }) =>
          permissions('ListResources', type, listed[type as keyof typeof listed]?.right),
        run({ TypeName: type }) {
          const { member, of } = listed[type as keyof typeof listed];
          const describe = (id: string) => ({ Identifier: id, Properties: JSON.stringify({ [member]: id }) });
          return { TypeName: type, ResourceDescriptions: [...account[of]].map(describe) };
        },
      },
      GetResource: {
        permissions: ({ TypeName: type }) =>
          permissions('GetResource', type, type === 'AWS::IAM::ServiceLinkedRole' ? 'iam:GetRole' : undefined),
        run({ TypeName: type, Identifier: name }) {
          if (!account.serviceRoles.has(String(name))) {
            throw new AwsError(400, 'ResourceNotFoundException', `The role with name ${name} cannot be found.`);
          }
          const description = { Identifier: name, Properties: JSON.stringify({ RoleName: name }) };
          return { TypeName: type, ResourceDescription: description };
        },
      },
    },
  );
}

/** CloudFormation, as far as this service and its tools use it: one stack, or all of its resources on one page. */
function cloudFormation(
  deployment: Pick<Deployment, 'region' | 'resourcesOf'>,
  { stacks, protectedStacks }: Pick<LocalAccount, 'stacks' | 'protectedStacks'>,
): BufferedService {
  /** CloudFormation has no separate error for this. */
  const unknownStack = (nameOrArn: string) =>
    new AwsError(400, 'ValidationError', `Stack with id ${nameOrArn} does not exist`);
  /** The ARN of a stack that is named by it, or by its name. */
  const arnOf = (nameOrArn = '') => {
    const arn = protectedStacks.has(nameOrArn) ? nameOrArn : stackId(nameOrArn, deployment.region);
    if (!protectedStacks.has(arn)) throw unknownStack(nameOrArn);
    return arn;
  };
  return queryService(
    { namespace: 'http://cloudformation.amazonaws.com/doc/2010-05-15/', prefix: 'cloudformation' },
    {
      DescribeStacks: {
        parameters: ['StackName'],
        resource: ({ StackName: name = '' }) => stackId(name, deployment.region),
        run({ StackName: name = '' }) {
          const stack = stacks.get(name);
          if (!stack) throw unknownStack(name);
          const outputs = Object.entries(stack.outputs);
          const member = {
            StackId: stackId(name, deployment.region),
            StackName: name,
            CreationTime: stack.createdAt.toISOString(),
            StackStatus: stack.status,
            Outputs: outputs.map(([key, value]) => ({ member: { OutputKey: key, OutputValue: value } })),
          };
          return { Stacks: { member } };
        },
      },
      ListStackResources: {
        parameters: ['StackName'],
        resource: ({ StackName: name }) => arnOf(name),
        run({ StackName: name }) {
          const resources = deployment.resourcesOf(arnOf(name).split('/')[1] ?? '');
          const members = resources.map(({ logicalId, type, id }) => ({
            member: {
              LogicalResourceId: logicalId,
              PhysicalResourceId: id,
              ResourceType: type,
              ResourceStatus: 'CREATE_COMPLETE',
            },
          }));
          return { StackResourceSummaries: members };
        },
      },
      UpdateTerminationProtection: {
        parameters: ['StackName', 'EnableTerminationProtection'],
        resource: ({ StackName: name }) => arnOf(name),
        run(input) {
          const arn = arnOf(input.StackName);
          protectedStacks.set(arn, flag(input, 'EnableTerminationProtection'));
          return { StackId: arn };
        },
      },
    },
  );
}

/** CloudTrail, as far as the tools use it: all trails, with those of other regions. */
function cloudTrail({ trails }: Pick<LocalAccount, 'trails'>): BufferedService {
  return jsonService(
    { target: 'CloudTrail_20131101', prefix: 'cloudtrail' },
    {
      DescribeTrails: {
        resource({ includeShadowTrails, ...others }) {
          if (includeShadowTrails === true && Object.keys(others).length === 0) return '*';
          throw new AwsError(400, 'UnknownOperationException', 'DescribeTrails in this form is not known here');
        },
        run: () => ({ trailList: [...trails].map((name) => ({ Name: name })) }),
      },
    },
  );
}

/** RDS, as far as this service and its tools use it: one cluster, its protection, and the offer of Aurora Serverless v2. */
function rds({
  clusters,
  protectedClusters,
  serverlessVersions,
}: Pick<LocalAccount, 'clusters' | 'protectedClusters' | 'serverlessVersions'>): BufferedService {
  const identifierOf = (arn: string) => arn.split(':')[6] ?? '';
  /** Known by its ARN or identifier. */
  const arnOf = (identifier = '', known: Iterable<string> = protectedClusters.keys()) => {
    const arn = [...known].find((each) => each === identifier || identifierOf(each) === identifier.toLowerCase());
    if (!arn) throw new AwsError(404, 'DBClusterNotFoundFault', `DBCluster ${identifier} not found.`);
    return arn;
  };
  return queryService(
    { namespace: 'http://rds.amazonaws.com/doc/2014-10-31/', prefix: 'rds' },
    {
      DescribeDBClusters: {
        parameters: ['DBClusterIdentifier'],
        run({ DBClusterIdentifier: identifier }) {
          const arn = arnOf(identifier, clusters.keys());
          const { engine, version, dataApi } = clusters.get(arn) as AccountCluster;
          const names = { DBClusterIdentifier: identifierOf(arn), DBClusterArn: arn };
          const facts = { Engine: engine, EngineVersion: version, HttpEndpointEnabled: dataApi };
          return { DBClusters: { DBCluster: { ...names, ...facts } } };
        },
      },
      DescribeOrderableDBInstanceOptions: {
        parameters: ['Engine', 'EngineVersion', 'DBInstanceClass'],
        run({ Engine: engine, EngineVersion: asked, DBInstanceClass: instanceClass }) {
          // A major version stands for all of its minor ones.
          const found = [...serverlessVersions].filter(([each]) => `${each}.`.startsWith(`${asked}.`));
          if (engine !== 'aurora-postgresql' || found.length === 0) {
            throw new AwsError(400, 'InvalidParameterCombination', `Cannot find version ${asked} for ${engine}`);
          }
          const options = (instanceClass === 'db.serverless' ? found : []).map(([version, dataApi]) => ({
            OrderableDBInstanceOption: {
              Engine: engine,
              EngineVersion: version,
              DBInstanceClass: instanceClass,
              SupportsHttpEndpoint: dataApi,
            },
          }));
          return { OrderableDBInstanceOptions: options };
        },
      },
      ModifyDBCluster: {
        parameters: ['DBClusterIdentifier', 'DeletionProtection'],
        resource: ({ DBClusterIdentifier: identifier }) => arnOf(identifier),
        run(input) {
          const arn = arnOf(input.DBClusterIdentifier);
          const on = flag(input, 'DeletionProtection');
          protectedClusters.set(arn, on);
          const names = { DBClusterIdentifier: identifierOf(arn), DBClusterArn: arn };
          return { DBCluster: { ...names, DeletionProtection: on } };
        },
      },
    },
  );
}

/** Service Quotas, as far as the tools use it. */
function serviceQuotas({ quotas }: Pick<LocalAccount, 'quotas'>, region: string): BufferedService {
  return jsonService(
    { target: 'ServiceQuotasV20190624', prefix: 'servicequotas' },
    {
      GetServiceQuota: {
        resource: ({ ServiceCode, QuotaCode }) =>
          `arn:aws:servicequotas:${region}:${accountId}:${ServiceCode}/${QuotaCode}`,
        run({ ServiceCode, QuotaCode }) {
          const value = quotas.get(`${ServiceCode}/${QuotaCode}`);
          if (value !== undefined) return { Quota: { ServiceCode, QuotaCode, Value: value } };
          throw new AwsError(400, 'NoSuchResourceException', 'The request failed: no such quota.');
        },
      },
    },
  );
}

/** SNS, as far as the tools use it. Local topics send nothing, so the address of a subscription never confirms it. */
function sns(deployment: Pick<Deployment, 'resources'>): BufferedService {
  const known = {
    parameters: ['TopicArn'],
    resource({ TopicArn: topic = '' }: Readonly<Record<string, string>>) {
      if (deployment.resources('AWS::SNS::Topic').some(({ id }) => id === topic)) return topic;
      throw new AwsError(404, 'NotFound', 'Topic does not exist');
    },
  };
  return queryService(
    { namespace: 'http://sns.amazonaws.com/doc/2010-03-31/', prefix: 'sns' },
    {
      GetTopicAttributes: {
        ...known,
        run({ TopicArn: topic = '' }) {
          const policy = deployment
            .resources('AWS::SNS::TopicPolicy')
            .find((each) => list(each.property('Topics')).includes(topic));
          const attributes = {
            TopicArn: topic,
            ...(policy && { Policy: JSON.stringify(policy.property('PolicyDocument')) }),
          };
          return { Attributes: Object.entries(attributes).map(([key, value]) => ({ entry: { key, value } })) };
        },
      },
      ListSubscriptionsByTopic: {
        ...known,
        run({ TopicArn: topic = '' }) {
          const subscriptions = deployment
            .resources('AWS::SNS::Subscription')
            .filter((each) => each.property('TopicArn') === topic);
          const members = subscriptions.map((each) => ({
            member: {
              TopicArn: topic,
              Protocol: String(each.property('Protocol')),
              Endpoint: String(each.property('Endpoint')),
              SubscriptionArn: 'PendingConfirmation',
            },
          }));
          return { Subscriptions: members };
        },
      },
    },
  );
}

/** A parameter that is `true` or `false`. @throws AwsError ValidationError */
function flag(input: Readonly<Record<string, string>>, name: string): boolean {
  const value = input[name];
  if (value === 'true' || value === 'false') return value === 'true';
  throw new AwsError(400, 'ValidationError', `${name} must be true or false`);
}
