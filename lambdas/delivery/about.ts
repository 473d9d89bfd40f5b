import { environment, trustedIssuersFile } from '../../lib/contract/environment.ts';
import { proxyChallenge } from '../../lib/contract/http.ts';
import { publicReply } from '../../lib/service/http/reply.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { bufferedHandler } from '../shared/http.ts';
import { bundledJson, deployedLogin, required } from '../shared/runtime.ts';

const { version } = packageJson;
// The deployment has checked the file.
const trusted = bundledJson(trustedIssuersFile) as readonly { iss: string; issues?: readonly string[] }[];
const about = {
  name: 'data-out',
  version,
  organization: required(environment.organizationName),
  archiveKind: required(environment.archiveKind),
  basicRequired: required(environment.archiveCredentials) === 'required',
  issuers: trusted.filter(({ issues = ['visas'] }) => issues.includes('visas')).map(({ iss }) => iss),
  login: deployedLogin(),
};

/** `GET|HEAD /.well-known/data-out`: what this service is and where researchers sign in, without credentials. */
export const handler = bufferedHandler(proxyChallenge, async ({ requestId }) =>
  publicReply(requestId, about, 'application/json'),
);
