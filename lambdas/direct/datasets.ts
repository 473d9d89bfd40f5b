import { directChallenge } from '../../lib/contract/http.ts';
import { type DatasetListing, listDatasetFiles, listDatasets } from '../../lib/service/direct/list-datasets.ts';
import { directAccess } from '../shared/direct-wiring.ts';
import { streamedHandler } from '../shared/http.ts';
import { logger } from '../shared/observability.ts';
import { keepMemorySmall } from '../shared/runtime.ts';

keepMemorySmall();

const endpoint = {
  ...directAccess(),
  served: (listing: DatasetListing) => logger.info('listed', { ...listing }),
};

/**
 * `GET /metadata/datasets[/{datasetId}/files]`, behind the authorizer: the datasets that the caller may have now, or the files
 * of one. Streamed, because a dataset may have 100,000 files.
 */
export const handler = streamedHandler(directChallenge, (request, { resource }) =>
  resource.endsWith('/files') ? listDatasetFiles(request, endpoint) : listDatasets(request, endpoint),
);
