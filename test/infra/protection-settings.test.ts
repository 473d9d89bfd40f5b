import { Match, type Template } from 'aws-cdk-lib/assertions';
import { describe, expect, test } from 'vitest';
import { settings } from '../../bin/settings.ts';
import type { Settings } from '../../lib/infra/settings.ts';
import { account, existing } from '../helpers/settings.ts';
import { type Templates, templatesOf } from '../helpers/synthesized.ts';

/** The templates of the repository's settings with a change. */
const templates = (change: Partial<Settings>): Templates => templatesOf({ ...settings, ...change });

const propertiesOf = (template: Template, type: string) =>
  Object.values(template.findResources(type)).map(({ Properties }) => Properties);
const idsOf = (template: Template, type: string) => Object.keys(template.findResources(type));

describe('host names of the operator’s own', () => {
  const certificateArn = `arn:aws:acm:eu-north-1:${account}:certificate/c`;
  const proxy = { name: 'data.example.org', certificateArn };
  const dataOut = { ...proxy, name: 'direct.example.org', hostedZone: { id: 'Z0123456789', name: 'example.org' } };
  const own = templates({ domains: { proxy, dataOut } });
  const { Outputs, Resources } = own.served.toJSON();
  const apis = ({ served }: Templates) =>
    propertiesOf(served, 'AWS::ApiGateway::RestApi').map(({ DisableExecuteApiEndpoint }) => DisableExecuteApiEndpoint);

  test('are Regional, with the certificate that is given and the TLS policy of the APIs', () => {
    const domains = propertiesOf(own.served, 'AWS::ApiGateway::DomainName');
    expect(domains).toEqual(
      [proxy.name, dataOut.name].map((DomainName) => ({
        DomainName,
        RegionalCertificateArn: certificateArn,
        EndpointConfiguration: { Types: ['REGIONAL'] },
        SecurityPolicy: 'SecurityPolicy_TLS13_1_2_PFS_PQ_2025_09',
        EndpointAccessMode: 'STRICT',
        Tags: undefined,
      })),
    );
    own.served.resourceCountIs('AWS::CertificateManager::Certificate', 0);
  });

  test('lead to the root of their API, where nothing has a name that API Gateway reserves', () => {
    const mappings = propertiesOf(own.served, 'AWS::ApiGateway::BasePathMapping');
    expect(mappings.map(({ RestApiId, BasePath }) => [RestApiId.Ref.slice(0, 8), BasePath])).toEqual([
      ['ProxyApi', undefined],
      ['DataOutA', undefined],
    ]);
    const paths = propertiesOf(own.served, 'AWS::ApiGateway::Resource').map(({ PathPart }) => PathPart);
    expect(paths.filter((path) => /^s?ping$/.test(path))).toEqual([]);
  });

  test('are what the outputs name, with the target where no zone is given', () => {
    expect([Outputs.ProxyUrl.Value, Outputs.DataOutUrl.Value]).toEqual([
      'https://data.example.org/',
      'https://direct.example.org/',
    ]);
    expect(Outputs.ProxyDomainTarget.Value['Fn::GetAtt'][1]).toBe('RegionalDomainName');
    expect(Outputs).not.toHaveProperty('DataOutDomainTarget');
    const [record, ...others] = propertiesOf(own.served, 'AWS::Route53::RecordSet');
    expect(others).toEqual([]);
    expect(record).toMatchObject({ HostedZoneId: 'Z0123456789', Name: 'direct.example.org.', Type: 'A' });
    expect(record?.AliasTarget.DNSName['Fn::GetAtt'][1]).toBe('RegionalDomainName');
  });

  test('take the place of the names that API Gateway gave, unless the operator keeps those', () => {
    const kept = templates({ domains: { proxy: { ...proxy, defaultEndpoint: 'on' } } });
    expect([apis(own), apis(kept), apis(templates({}))]).toEqual([
      [true, true],
      [false, undefined],
      [undefined, undefined],
    ]);
    // A change takes effect with a new deployment of the API.
    const deployments = ({ served }: Templates) => idsOf(served, 'AWS::ApiGateway::Deployment');
    for (const id of deployments(own)) expect(deployments(templates({}))).not.toContain(id);
    expect(
      Object.values<{ Type: string }>(Resources).filter(({ Type }) => Type === 'AWS::ApiGateway::Stage'),
    ).toHaveLength(2);
  });

  test.each([
    ['domains.proxy.name: expected a host name', { proxy: { ...proxy, name: 'Data.example.org' } }],
    ['domains.proxy.certificateArn: expected the ARN', { proxy: { ...proxy, certificateArn: 'c' } }],
    ['domains.dataOut.name: expected another name than domains.proxy.name', { proxy, dataOut: proxy }],
    [
      'domains.proxy.name: expected a name in the zone domains.proxy.hostedZone.name',
      { proxy: { ...proxy, hostedZone: { id: 'Z1', name: 'ample.org' } } },
    ],
  ])('are refused with the field: %s', (message, domains) => {
    expect(() => templates({ domains })).toThrow(message);
  });
});

describe('the firewall', () => {
  const firewall = { requestsPerFiveMinutes: 20_000, exportRequestsPerFiveMinutes: 600 };
  const { served } = templates({ firewall });
  const [webAcl, ...others] = propertiesOf(served, 'AWS::WAFv2::WebACL');

  test('is missing unless the operator says so', () => {
    const without = templates({}).served;
    expect(JSON.stringify(without.toJSON())).not.toMatch(/WAF/);
  });

  test('limits rates of each address and has no other rule: a managed one would refuse long visas', () => {
    expect(others).toEqual([]);
    expect(webAcl).toMatchObject({ Scope: 'REGIONAL', DefaultAction: { Allow: {} } });
    const rates = webAcl?.Rules.map(({ Action, Statement }: { Action: object; Statement: object }) => {
      expect(Action).toEqual({ Block: {} });
      const [kind, ...rest] = Object.entries(Statement);
      expect(rest).toEqual([]);
      expect(kind?.[0]).toBe('RateBasedStatement');
      const { Limit, AggregateKeyType, EvaluationWindowSec, ScopeDownStatement } = kind?.[1] ?? {};
      return [Limit, AggregateKeyType, EvaluationWindowSec, ScopeDownStatement?.RegexMatchStatement.RegexString];
    });
    expect(rates).toEqual([
      [600, 'IP', 300, '(^|/)(export|admin)(/|$)'],
      [20_000, 'IP', 300, undefined],
    ]);
  });

  test('stands before both APIs', () => {
    const stages = propertiesOf(served, 'AWS::WAFv2::WebACLAssociation').map(({ ResourceArn }) =>
      JSON.stringify(ResourceArn),
    );
    expect(stages).toEqual([expect.stringContaining('ProxyApi'), expect.stringContaining('DataOutApi')]);
    expect(
      propertiesOf(templates({ firewall, directAccess: 'off' }).served, 'AWS::WAFv2::WebACLAssociation'),
    ).toHaveLength(1);
  });

  test('stores no header, path or query: there are visas and names of files in them', () => {
    const visibilities = [webAcl, ...(webAcl?.Rules ?? [])].map(({ VisibilityConfig }) => VisibilityConfig);
    expect(visibilities).toHaveLength(3);
    for (const visibility of visibilities) {
      expect(visibility).toMatchObject({ SampledRequestsEnabled: false, CloudWatchMetricsEnabled: true });
    }
    const [logging] = propertiesOf(served, 'AWS::WAFv2::LoggingConfiguration');
    expect(logging?.RedactedFields).toEqual([
      ...['authorization', 'proxy-authorization', 'x-ga4gh-visa', 'cookie'].map((Name) => ({ SingleHeader: { Name } })),
      { UriPath: {} },
      { QueryString: {} },
    ]);
    expect(logging?.LoggingFilter.DefaultBehavior).toBe('DROP');
    // AWS WAF takes the ARN of a group without `:*`, and only groups of this prefix.
    expect(JSON.stringify(logging?.LogDestinationConfigs)).toMatch(/:log-group:",\{"Ref":"FirewallLog\w+"\}\]\]\}\]$/);
    served.hasResource('AWS::Logs::LogGroup', {
      Properties: { LogGroupName: { 'Fn::Join': ['', ['aws-waf-logs-', Match.anyValue()]] }, RetentionInDays: 90 },
      DeletionPolicy: 'Delete',
    });
  });

  test('refuses with a problem document that says how long to wait', () => {
    const refusals = Object.values(
      served.findResources('AWS::ApiGateway::GatewayResponse', { Properties: { ResponseType: 'WAF_FILTERED' } }),
    );
    expect(refusals).toHaveLength(2);
    for (const { Properties } of refusals) {
      expect(Properties).toMatchObject({
        StatusCode: '429',
        ResponseParameters: { 'gatewayresponse.header.Retry-After': "'60'" },
      });
      expect(JSON.parse(Properties.ResponseTemplates['application/json'])).toMatchObject({
        status: 429,
        code: 'throttled',
        requestId: '$context.requestId',
      });
    }
  });
});

describe('the record of every read and write', () => {
  const others = [{ bucketName: 'archive-2' }];
  const { stored } = templates({ dataEvents: 'on', otherArchiveBuckets: others, bucketLogRetentionDays: 400 });
  const [trail, ...more] = Object.values(stored.findResources('AWS::CloudTrail::Trail'));
  const bucketId = idsOf(stored, 'AWS::S3::Bucket').find((id) => id.startsWith('DataEvents')) ?? '';
  const bucket = stored.toJSON().Resources[bucketId];

  test('is missing unless the operator says so', () => {
    templates({ dataEvents: 'off' }).stored.resourceCountIs('AWS::CloudTrail::Trail', 0);
    expect(templates({ dataEvents: 'off' }).stored.toJSON()).toEqual(templates({}).stored.toJSON());
  });

  test('is of objects in the archive and the outbox, and not in the bucket of the trail', () => {
    expect(more).toEqual([]);
    const { AdvancedEventSelectors, EventSelectors } = trail?.Properties ?? {};
    expect(EventSelectors).toBeUndefined();
    expect(AdvancedEventSelectors).toHaveLength(1);
    const [category, type, arn] = AdvancedEventSelectors[0].FieldSelectors;
    // No field tells reads from writes: both are recorded. No selector has management events.
    expect([category, type]).toEqual([
      { Field: 'eventCategory', Equals: ['Data'] },
      { Field: 'resources.type', Equals: ['AWS::S3::Object'] },
    ]);
    const watched = arn.StartsWith.map((each: unknown) => JSON.stringify(each));
    expect(watched).toEqual([
      expect.stringMatching(/"ArchiveBucket\w+","Arn"\]\},"\/"/),
      expect.stringMatching(/:s3:::archive-2\/"/),
      expect.stringMatching(/"OutboxBucket\w+","Arn"\]\},"\/"/),
    ]);
    expect(AdvancedEventSelectors[0].FieldSelectors).toHaveLength(3);
  });

  test('can be checked, is encrypted, and is kept for the days of the other bucket logs', () => {
    expect(trail?.Properties).toMatchObject({
      EnableLogFileValidation: true,
      IsLogging: true,
      IncludeGlobalServiceEvents: false,
      IsMultiRegionTrail: false,
      S3BucketName: { Ref: bucketId },
      KMSKeyId: { 'Fn::GetAtt': [expect.stringMatching(/^DataEventsKey/), 'Arn'] },
    });
    expect(bucket.Properties).toMatchObject({
      BucketEncryption: {
        ServerSideEncryptionConfiguration: [{ ServerSideEncryptionByDefault: { SSEAlgorithm: 'aws:kms' } }],
      },
      PublicAccessBlockConfiguration: { BlockPublicAcls: true, RestrictPublicBuckets: true },
      LifecycleConfiguration: { Rules: [{ ExpirationInDays: 400, Status: 'Enabled' }] },
    });
  });

  test('ends with the setting, but what was recorded stays', () => {
    expect(trail).toMatchObject({ DeletionPolicy: 'Delete', UpdateReplacePolicy: 'Delete' });
    expect(bucket).toMatchObject({ DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' });
    const keys = Object.entries(stored.findResources('AWS::KMS::Key')).filter(([id]) => id.startsWith('DataEvents'));
    expect(keys).toEqual([
      [
        expect.any(String),
        expect.objectContaining({ DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' }),
      ],
    ]);
  });

  test('is written by this trail alone, over TLS 1.2 or newer', () => {
    const [policy] = propertiesOf(stored, 'AWS::S3::BucketPolicy').filter(({ Bucket }) => Bucket.Ref === bucketId);
    const statements: Record<string, Record<string, unknown>>[] = policy?.PolicyDocument.Statement;
    const denied = statements.filter(({ Effect }) => `${Effect}` === 'Deny').map(({ Condition }) => Condition);
    expect(denied).toEqual([
      { Bool: { 'aws:SecureTransport': 'false' } },
      { NumericLessThan: { 's3:TlsVersion': 1.2 } },
    ]);
    const [key] = Object.entries(stored.findResources('AWS::KMS::Key')).filter(([id]) => id.startsWith('DataEvents'));
    const ofCloudTrail = [...statements, ...key![1].Properties.KeyPolicy.Statement].filter(
      ({ Principal }) => Principal?.Service === 'cloudtrail.amazonaws.com',
    );
    expect(ofCloudTrail.map(({ Action }) => Action)).toEqual([
      's3:GetBucketAcl',
      's3:PutObject',
      'kms:GenerateDataKey*',
      'kms:DescribeKey',
    ]);
    const name = trail?.Properties.TrailName;
    for (const { Condition } of ofCloudTrail) {
      expect(JSON.stringify(Condition.StringEquals['aws:SourceArn'])).toContain(`:trail/${name}"`);
    }
  });
});

describe('older versions of archived bodies', () => {
  const versioning = (change: Partial<Settings>) => {
    const { stored } = templates(change);
    const [id = ''] = idsOf(stored, 'AWS::S3::Bucket').filter((each) => each.startsWith('ArchiveBucket'));
    return stored.toJSON().Resources[id].Properties.VersioningConfiguration;
  };

  test('are kept unless the operator says otherwise', () => {
    expect([versioning({}), versioning({ archiveVersioning: 'on' }), versioning({ archiveVersioning: 'off' })]).toEqual(
      [{ Status: 'Enabled' }, { Status: 'Enabled' }, { Status: 'Suspended' }],
    );
  });
});

describe('keys of the logs', () => {
  const firewall = { requestsPerFiveMinutes: 20_000, exportRequestsPerFiveMinutes: 600 };
  const { stored, served } = templates({ logKeys: 'customer', firewall, adminPage: true });
  const logGroups = Object.entries(served.findResources('AWS::Logs::LogGroup'));

  test('are those of AWS unless the operator says otherwise', () => {
    for (const { KmsKeyId } of propertiesOf(templates({ firewall }).served, 'AWS::Logs::LogGroup')) {
      expect(KmsKeyId).toBeUndefined();
    }
  });

  test('of a customer encrypt every log of the service: of functions, APIs, the firewall, and the CDK’s own function', () => {
    const functions = Object.values(served.findResources('AWS::Lambda::Function'));
    // One for each function, two access logs, one of the firewall.
    expect(logGroups).toHaveLength(functions.length + 3);
    for (const [, { Properties }] of logGroups) {
      expect(JSON.stringify(Properties.KmsKeyId)).toMatch(/"StackName":"DataOutStorage",.*"OutputName":"\w*LogKey/);
      expect(Properties.RetentionInDays).toBe(90);
    }
    for (const { Properties } of functions) {
      const name = Properties.LoggingConfig?.LogGroup?.Ref;
      expect(logGroups.map(([id]) => id)).toContain(name);
    }
  });

  test('outlive the service stack with the logs that are kept', () => {
    const [key, ...others] = Object.entries(stored.findResources('AWS::KMS::Key')).filter(([id]) =>
      id.startsWith('LogKey'),
    );
    expect(others).toEqual([]);
    expect(key?.[1]).toMatchObject({
      DeletionPolicy: 'RetainExceptOnCreate',
      UpdateReplacePolicy: 'Retain',
      Properties: { EnableKeyRotation: true },
    });
    expect(propertiesOf(served, 'AWS::KMS::Key').map(({ Description }) => Description)).toEqual([
      'Secret of the tokens in htsget tickets',
    ]);
  });

  test('are used by CloudWatch Logs for log groups of this account and region, and by no other service', () => {
    const [key] = propertiesOf(stored, 'AWS::KMS::Key').filter(
      ({ Description }) => Description === 'Logs of the service',
    );
    const [owner, logs, ...others] = key?.KeyPolicy.Statement ?? [];
    expect(others).toEqual([]);
    expect(JSON.stringify(owner.Principal)).toContain(':root');
    expect(logs.Principal).toEqual({
      Service: { 'Fn::Join': ['', ['logs.', { Ref: 'AWS::Region' }, '.amazonaws.com']] },
    });
    expect(logs.Condition).toEqual({
      ArnLike: {
        'kms:EncryptionContext:aws:logs:arn': {
          'Fn::Join': [
            '',
            [
              'arn:',
              { Ref: 'AWS::Partition' },
              ':logs:',
              { Ref: 'AWS::Region' },
              ':',
              { Ref: 'AWS::AccountId' },
              ':log-group:*',
            ],
          ],
        },
      },
    });
  });
});

describe('direct access', () => {
  const on = templates({});
  const off = templates({ directAccess: 'off' });
  const functions = ({ served }: Templates) =>
    idsOf(served, 'AWS::Lambda::Function').map((id) => id.replace(/^Functions|Function[0-9A-F]{8}$/g, ''));

  test('is on unless the operator says otherwise', () => {
    expect(templates({ directAccess: 'on' })).toEqual(on);
  });

  test('that is off has no function, no API, no alarm and no separate output', () => {
    const gone = functions(on).filter((name) => !functions(off).includes(name));
    expect(gone.sort()).toEqual([
      'AuthorizeVisa',
      'DataOutOpenApiDataOutOpenApi',
      'Datasets',
      'DirectFile',
      'Drs',
      'Htsget',
      'ServiceInfo',
    ]);
    expect(propertiesOf(off.served, 'AWS::ApiGateway::RestApi').map(({ Name }) => Name)).toEqual([
      'DataOutService-Proxy',
    ]);
    const alarms = propertiesOf(off.served, 'AWS::CloudWatch::Alarm').map(({ AlarmName }) => AlarmName);
    expect(alarms.filter((name) => /Direct|DataOut(?!Service-)/.test(name.replace('DataOutService-', '')))).toEqual([]);
    expect(Object.keys(off.served.toJSON().Outputs)).not.toContain('DataOutUrl');
    expect(Object.keys(off.served.toJSON().Outputs)).toContain('ProxyUrl');
  });

  test('that is off leaves the archive keys to the export alone, and no right to write below direct/', () => {
    const mayUse = (what: RegExp) =>
      propertiesOf(off.served, 'AWS::IAM::Policy')
        .filter(({ PolicyDocument }) => what.test(JSON.stringify(PolicyDocument)))
        .map(({ PolicyName }) => PolicyName.match(/Functions([A-Za-z]+)Role/)?.[1]);
    expect(mayUse(/"OutputName":"\w+ArchiveKeysSecret/)).toEqual(['StageFile']);
    expect(mayUse(/"OutputName":"\w+ArchiveKeysKey/)).toEqual(['StageFile']);
    // Short-lived containers from the time before: one of a deprecated dataset is still found.
    expect(mayUse(/\/direct\/\*/)).toEqual(['Withdraw']);
    const writing = propertiesOf(off.served, 'AWS::IAM::Policy').flatMap(({ PolicyDocument }) =>
      PolicyDocument.Statement.filter(({ Action }: { Action: string | string[] }) =>
        [Action].flat().includes('s3:PutObject'),
      ),
    );
    expect(writing.length).toBeGreaterThan(0);
    for (const statement of writing) expect(JSON.stringify(statement)).not.toContain('direct/');
  });

  test('that is off has no database role: its secret and key are not made, its password is taken away', () => {
    const secrets = ({ stored }: Templates) => idsOf(stored, 'AWS::SecretsManager::Secret');
    expect(secrets(on).filter((id) => !secrets(off).includes(id))).toEqual([
      expect.stringMatching(/^CatalogueReaderSecret/),
    ]);
    expect(idsOf(off.stored, 'AWS::KMS::Key').filter((id) => id.includes('Reader'))).toEqual([]);
    const variables = (templates: Templates) =>
      propertiesOf(templates.served, 'AWS::Lambda::Function').find(({ Description }) =>
        /^Brings the catalogue/.test(Description),
      )?.Environment.Variables;
    expect(variables(off)).toMatchObject({ DATABASE_CLOSED_ROLE: 'data_out_reader' });
    expect(variables(off)).not.toHaveProperty('DATABASE_READER_SECRET_ARN');
    expect(variables(on)).not.toHaveProperty('DATABASE_CLOSED_ROLE');
  });

  const readerSecretArn = `arn:aws:secretsmanager:eu-north-1:${account}:secret:reader-AbCdEf`;
  const domain = { name: 'direct.example.org', certificateArn: `arn:aws:acm:eu-north-1:${account}:certificate/c` };
  test.each([
    ['concurrency.directFiles', { concurrency: existing.concurrency }],
    ['domains.dataOut', { domains: { dataOut: domain } }],
    ['database.readerSecretArn', { database: { ...existing.database, readerSecretArn } }],
  ])('that is off is refused with %s', (field, change) => {
    expect(() => templates({ ...change, directAccess: 'off' })).toThrow(
      `${field}: expected no such field while directAccess is off`,
    );
    expect(() => templates(change)).not.toThrow();
  });
});
