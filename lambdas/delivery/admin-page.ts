import { type AdminPage, adminPageFile } from '../../lib/contract/admin-page.ts';
import { environment } from '../../lib/contract/environment.ts';
import { proxyChallenge } from '../../lib/contract/http.ts';
import { adminPageReply } from '../../lib/service/http/administrator.ts';
import { bufferedHandler } from '../shared/http.ts';
import { bundledJson, required } from '../shared/runtime.ts';

const archiveKind = required(environment.archiveKind);
const page = bundledJson(adminPageFile) as AdminPage;

/** `GET /admin`, behind the administrators' authorizer. */
export const handler = bufferedHandler(proxyChallenge, async (request) => adminPageReply(request, page, archiveKind));
