import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Match, type Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, test } from 'vitest';
import { settings } from '../../bin/settings.ts';
import { compatibilityRoutes, compatibleClients } from '../../lib/infra/apis/compatibility.ts';
import { assembly } from '../helpers/assembly.ts';
import { OpenApi } from '../helpers/openapi.ts';
import { templatesOf } from '../helpers/synthesized.ts';
import { type Resource, show, stackTemplate } from '../helpers/template.ts';

let folder: string;
let service: Awaited<ReturnType<typeof stackTemplate>>;
beforeAll(async () => {
  folder = await assembly();
  service = await stackTemplate('DataOutService');
});

function pathOf(id: string | undefined): string {
  if (id === undefined) return '';
  const { PathPart, ParentId } = service.template.Resources[id]!.Properties;
  return `${pathOf(ParentId.Ref)}/${PathPart}`;
}

/** `GET /files` as the document has it: the kind of the archive is a parameter there, a literal in the template; no name ends with `+`. */
function operationOf({ Properties }: Resource): string {
  const path = pathOf(Properties.ResourceId.Ref)
    .replace('/export/fega', '/export/{archive_kind}')
    .replace('{id+}', '{id}');
  return `${Properties.HttpMethod} ${path}`;
}

describe.each([
  ['delivery', 'Proxy'],
  ['direct', 'DataOut'],
] as const)('docs/openapi/%s.yaml', (name, construct) => {
  const api = OpenApi.read(name);
  const methods = () =>
    service.all('AWS::ApiGateway::Method').filter(({ Properties }) => show(Properties.RestApiId) === `${construct}Api`);

  test('has every route of the API and no other', () => {
    expect(methods().map(operationOf).sort()).toEqual([...api.operations].sort());
  });

  test('says of each route whether an authorizer is before it', () => {
    for (const method of methods()) {
      const schemes = api.security(operationOf(method));
      const behind = ['administrator', 'bearer', 'visa'].some((scheme) => schemes.includes(scheme));
      expect([operationOf(method), method.Properties.AuthorizationType]).toEqual([
        operationOf(method),
        behind ? 'CUSTOM' : 'NONE',
      ]);
    }
  });

  test('is what the gateway demands of requests: every query parameter and header that must be there', () => {
    for (const method of methods()) {
      const { RequestParameters = {}, RequestValidatorId } = method.Properties;
      const required = api
        .parameters(operationOf(method))
        .filter((parameter) => parameter.required && parameter.in !== 'path')
        .map((parameter) => `method.request.${parameter.in === 'query' ? 'querystring' : 'header'}.${parameter.name}`);
      expect(Object.keys(RequestParameters)).toEqual(required);
      expect(RequestValidatorId !== undefined).toBe(required.length > 0);
    }
  });

  test('is beside the function that serves it', () => {
    const { Properties } = service.at(`Functions/${construct}OpenApi/Function`);
    const asset = join(folder, `asset.${Properties.Code.S3Key.replace(/\.zip$/, '')}`);
    expect(JSON.parse(readFileSync(join(asset, 'openapi.json'), 'utf8'))).toEqual(api.document);
  });
});

test('docs/openapi/direct.yaml has the routes for clients of other archives, which a setting adds', () => {
  const added = compatibleClients.flatMap((client) => compatibilityRoutes[client]);
  const described = OpenApi.read('direct', 'compatibility');
  const routes = added.map(([verb, path]) => `${verb} ${path.replace('+}', '}')}`);
  expect(routes.sort()).toEqual([...described.operations].sort());
  const { served } = templatesOf({ ...settings, compatibility: compatibleClients });
  const count = (template: Template) => Object.keys(template.findResources('AWS::ApiGateway::Method')).length;
  expect(count(served) - count(templatesOf(settings).served)).toBe(added.length);
  served.hasResourceProperties('AWS::ApiGateway::Stage', {
    MethodSettings: Match.arrayWith([Match.objectLike({ ResourcePath: '/~1ega~1token', ThrottlingRateLimit: 5 })]),
  });
});
