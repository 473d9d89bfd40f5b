import { type DatasetListing, listDatasetFiles } from '../../lib/api/direct/list-dataset-files.ts';
import { directChallenge } from '../../lib/contract/challenges.ts';
import { directAccess } from '../shared/direct-access.ts';
import { logger } from '../shared/observability.ts';
import { keepMemorySmall } from '../shared/small-memory.ts';
import { streamedHandler } from '../shared/stream-reply.ts';

keepMemorySmall();

const endpoint = {
  ...directAccess(),
  served: (listing: DatasetListing) => logger.info('listed', { ...listing }),
};

/** `GET /metadata/datasets/{datasetId}/files`, behind the authorizer, streamed: the dataset may have 100,000 files. */
export const handler = streamedHandler(directChallenge, (request) => listDatasetFiles(request, endpoint));
