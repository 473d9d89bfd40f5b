import type { LocalAccount } from '../account/account.ts';
import type { BufferedService } from '../endpoint/buffered-service.ts';
import { AwsError } from '../endpoint/errors.ts';

const domain = /^\/domainnames\/([^/]+)$/;

/** API Gateway's own API, as far as the tools use it: `GET` of `/account`, `/restapis` with all APIs on one page, and `/domainnames/NAME`. */
export function apiGateway(
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
