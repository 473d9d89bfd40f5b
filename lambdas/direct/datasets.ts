import { directChallenge } from '../../lib/contract/http.ts';
import { describeEgaFile, listEgaDatasets, listEgaFiles } from '../../lib/service/direct/compatibility/ega.ts';
import { describeSdaDataset, listSdaDatasets, listSdaFiles } from '../../lib/service/direct/compatibility/sda.ts';
import { type GrantRefusal, grantByPassword, userInfo } from '../../lib/service/direct/compatibility/sign-in.ts';
import { type DatasetListing, listDatasetFiles, listDatasets } from '../../lib/service/direct/list-datasets.ts';
import { type HttpReply, jsonReply, type ReplyBody } from '../../lib/service/http/reply.ts';
import type { HttpRequest } from '../../lib/service/http/request.ts';
import { directAccess } from '../shared/direct-wiring.ts';
import { streamedHandler } from '../shared/http.ts';
import { logger } from '../shared/observability.ts';
import { keepMemorySmall } from '../shared/runtime.ts';

keepMemorySmall();

const endpoint = {
  ...directAccess(),
  served: (listing: DatasetListing) => logger.info('listed', { ...listing }),
  refused: (refusal: GrantRefusal) => logger.info('refused', { ...refusal }),
};

type Reply = (request: HttpRequest, from: typeof endpoint, baseUrl: string) => Promise<HttpReply<ReplyBody>>;

/** By route. */
const replies = new Map<string, Reply>([
  ['/metadata/datasets', (request, from) => listDatasets(request, from)],
  ['/metadata/datasets/{datasetId}/files', (request, from) => listDatasetFiles(request, from)],
  ['/datasets', listSdaDatasets],
  ['/datasets/{datasetId}', describeSdaDataset],
  ['/datasets/{datasetId}/files', listSdaFiles],
  ['/ega/token', grantByPassword],
  ['/ega/userinfo', userInfo],
  // pyEGA3 reports each download, and stops without an answer. The report is not read.
  ['/ega/stats', async ({ requestId }) => jsonReply(requestId, {})],
  ['/ega/{version}/datasets', listEgaDatasets],
  ['/ega/{version}/datasets/{datasetId}/files', listEgaFiles],
  ['/ega/{version}/files/{fileId}', describeEgaFile],
]);

/**
 * `GET /metadata/datasets[/{datasetId}/files]`, behind the authorizer: the datasets that the caller may have now, or the files
 * of one. Streamed, because a dataset may have 100,000 files. The same for clients of other archives, in their own forms.
 */
export const handler = streamedHandler(directChallenge, async (request, { resource, baseUrl }) => {
  const reply = replies.get(resource);
  if (!reply) throw new Error(`no reply is known for ${resource}`);
  return await reply(request, endpoint, baseUrl());
});
