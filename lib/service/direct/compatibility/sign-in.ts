import { isError } from '../../../errors.ts';
import { bearerToken, verifiedToken } from '../../http/authorization.ts';
import { type HttpReply, jsonReply } from '../../http/reply.ts';
import { type HttpRequest, singleHeader } from '../../http/request.ts';
import type { DatasetsEndpoint } from '../list-datasets.ts';

type Verifier = Pick<DatasetsEndpoint, 'rules'>;

interface GrantEndpoint extends Verifier {
  /** Callers ask operators why their credentials were refused. The detail names rules, never values. */
  readonly refused: (refusal: GrantRefusal) => void;
}

export interface GrantRefusal {
  readonly requestId: string;
  readonly status: number;
  readonly code: string;
  readonly detail: string;
}

/** Bytes of a form, and characters of a token that `Authorization` can carry beside the headers of a client. */
const mostFormBytes = 64 * 1024;
const longestToken = 9 * 1024;

/**
 * `POST /ega/token`, the password grant (RFC 6749 § 4.3) as pyEGA3 sends it: the password is a visa or a passport, and so is the
 * access token, once it is verified. The name, and the id and secret of the client are ignored, and nothing is stored.
 */
export async function grantByPassword(request: HttpRequest, endpoint: GrantEndpoint): Promise<HttpReply> {
  const { requestId } = request;
  const refused = (code: string, detail: string) => {
    endpoint.refused({ requestId, status: 400, code, detail });
    return jsonReply(requestId, { error: code, error_description: detail, code, requestId }, 400);
  };
  const { body = new Uint8Array() } = request;
  const isForm = /^application\/x-www-form-urlencoded *(;|$)/i.test(singleHeader(request, 'Content-Type') ?? '');
  const form = new URLSearchParams(isForm && body.length <= mostFormBytes ? new TextDecoder().decode(body) : '');
  const [[grant, ...grants], [password, ...passwords]] = [form.getAll('grant_type'), form.getAll('password')];
  if (grant === undefined || password === undefined || grants.length + passwords.length > 0) {
    return refused(
      'invalid_request',
      `send a form of at most ${mostFormBytes} bytes with one grant_type and one password`,
    );
  }
  if (grant !== 'password') return refused('unsupported_grant_type', 'the grant_type must be password');
  if (password.length > longestToken) {
    return refused('invalid_grant', `the password must be a visa or a passport of at most ${longestToken} characters`);
  }
  try {
    await verifiedToken(password, endpoint.rules);
  } catch (error) {
    if (!isError(error, 'unauthenticated')) throw error;
    return refused('invalid_grant', error.message);
  }
  return jsonReply(requestId, { access_token: password, token_type: 'Bearer' });
}

/** `POST /ega/userinfo`: whose the token is. */
export async function userInfo(request: HttpRequest, { rules }: Verifier): Promise<HttpReply> {
  const { subject } = await verifiedToken(bearerToken(request), rules);
  return jsonReply(request.requestId, { sub: subject.sub });
}

/** `GET /info`, from which sda-cli's `login` begins. Empty if the deployment has no login. */
export function signInReply(requestId: string, login?: { issuer: string; clientId: string }): HttpReply {
  return jsonReply(requestId, { client_id: login?.clientId, oidc_uri: login?.issuer });
}
