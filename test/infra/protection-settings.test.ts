import type { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, test } from 'vitest';
import { settings } from '../../bin/settings.ts';
import { compatibleClients } from '../../lib/infra/apis/compatibility.ts';
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
  const dataOut = { ...proxy, name: 'direct.example.org' };
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

  test('are what the outputs name, with the target of the DNS record', () => {
    expect([Outputs.ProxyUrl.Value, Outputs.DataOutUrl.Value]).toEqual([
      'https://data.example.org/',
      'https://direct.example.org/',
    ]);
    for (const name of ['ProxyDomainTarget', 'DataOutDomainTarget']) {
      expect(Outputs[name].Value['Fn::GetAtt'][1]).toBe('RegionalDomainName');
    }
  });

  test('take the place of the names that API Gateway gave', () => {
    expect([apis(own), apis(templates({}))]).toEqual([
      [true, true],
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
    ['domains.proxy.name: Expected a host name', { proxy: { ...proxy, name: 'Data.example.org' } }],
    ['domains.proxy.certificateArn: Expected the ARN', { proxy: { ...proxy, certificateArn: 'c' } }],
    ['domains.dataOut.name: expected another name than domains.proxy.name', { proxy, dataOut: proxy }],
  ])('are refused with the field: %s', (message, domains) => {
    expect(() => templates({ domains })).toThrow(message);
  });
});

describe('keys of the logs', () => {
  const { stored, served } = templates({ logKeys: 'customer', adminPage: true });
  const logGroups = Object.entries(served.findResources('AWS::Logs::LogGroup'));

  test('are those of AWS unless the operator says otherwise', () => {
    for (const { KmsKeyId } of propertiesOf(templates({}).served, 'AWS::Logs::LogGroup')) {
      expect(KmsKeyId).toBeUndefined();
    }
  });

  test('of a customer encrypt every log of the service: of functions, APIs, and the CDK’s own function', () => {
    const functions = Object.values(served.findResources('AWS::Lambda::Function'));
    // One for each function, and two access logs.
    expect(logGroups).toHaveLength(functions.length + 2);
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
      'DataOutOpenApi',
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

  const domain = { name: 'direct.example.org', certificateArn: `arn:aws:acm:eu-north-1:${account}:certificate/c` };
  test.each([
    ['concurrency.directFiles', { concurrency: existing.concurrency }],
    ['domains.dataOut', { domains: { dataOut: domain } }],
    ['compatibility', { compatibility: compatibleClients }],
    ['htsget', { htsget: { origins: ['https://genome.example.org'] } }],
  ])('that is off is refused with %s', (field, change) => {
    expect(() => templates({ ...change, directAccess: 'off' })).toThrow(
      `${field}: expected no such field while directAccess is off`,
    );
    expect(() => templates(change)).not.toThrow();
  });
});
