import { expect, test } from 'vitest';
import { readApis } from '../../../../lib/local/api-gateway/model.ts';
import { deploy } from '../../../../lib/local/template/deployment.ts';

const addresses = { queueUrl: (name: string) => `http://local/0/${name}`, apiUrl: (id: string) => `http://api/${id}` };

/** The headers of an API's 401, given as the template has them. */
function headersOf(parameters: Readonly<Record<string, string>>) {
  const ofApi = { RestApiId: { Ref: 'Api' } };
  const template = {
    Resources: {
      Api: { Type: 'AWS::ApiGateway::RestApi' },
      Stage: { Type: 'AWS::ApiGateway::Stage', Properties: { ...ofApi, StageName: 'v1' } },
      Refusal: {
        Type: 'AWS::ApiGateway::GatewayResponse',
        Properties: { ...ofApi, ResponseType: 'UNAUTHORIZED', ResponseParameters: parameters },
      },
    },
  };
  const [api] = readApis(deploy([{ name: 'S', template, region: undefined, assets: new Map() }], addresses));
  return api?.gatewayResponses.get('UNAUTHORIZED')?.headers;
}

test('a gateway response has literal headers', () => {
  expect(headersOf({ 'gatewayresponse.header.WWW-Authenticate': `'Basic realm="x"'` })).toEqual({
    'WWW-Authenticate': 'Basic realm="x"',
  });
});

test.each([
  ['gatewayresponse.header.X-Request-Id', 'context.requestId'],
  ['gatewayresponse.header.X-Request-Id', '$context.requestId'],
  ['gatewayresponse.header.X-Request-Id', 'integration.response.header.x'],
  ['gatewayresponse.header.X-Request-Id', 'literal without quotes'],
  ['method.response.header.X-Request-Id', "'literal'"],
])('the template is refused where %s is set to %s, which API Gateway documents nowhere', (name, value) => {
  expect(() => headersOf({ [name]: value })).toThrow(`${name} cannot be set to ${value}`);
});
