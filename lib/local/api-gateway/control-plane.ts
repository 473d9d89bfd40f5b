import type { LocalAccount } from '../account/account.ts';
import type { BufferedService } from '../endpoint/buffered-service.ts';
import { AwsError } from '../endpoint/errors.ts';

/** API Gateway's own API, as far as the tools use it: `GET /account`, and `GET /restapis` with all APIs on one page. */
export function apiGateway(
  account: Pick<LocalAccount, 'apiGatewayLogRole' | 'restApis'>,
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
      if (method !== 'GET' || !(path in replies)) {
        throw new AwsError(404, 'NotFoundException', `${method} ${path} is not known to the local API Gateway`);
      }
      const permission = { action: 'apigateway:GET', resource: `arn:aws:apigateway:${region}::${path}` };
      return { action: `GET ${path}`, input: { path }, permissions: [permission] };
    },
    async handle(_action, { path }) {
      const reply = replies[String(path)]?.();
      return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(reply) };
    },
  };
}
