import { directChallenge } from '../../lib/contract/http.ts';
import { listDatasets } from '../../lib/service/direct/list-datasets.ts';
import { directAccess } from '../shared/direct-wiring.ts';
import { bufferedHandler } from '../shared/http.ts';

const endpoint = directAccess();

/** `GET /metadata/datasets`, behind the authorizer: what the caller may have now. */
export const handler = bufferedHandler(directChallenge, (request) => listDatasets(request, endpoint));
