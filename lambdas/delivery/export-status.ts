import { environment } from '../../lib/contract/environment.ts';
import { proxyChallenge } from '../../lib/contract/http.ts';
import { exportRecords } from '../../lib/service/export/export-records.ts';
import { listExports, showExport } from '../../lib/service/export/show-exports.ts';
import { bufferedHandler } from '../shared/http.ts';
import { required } from '../shared/runtime.ts';
import { promptDatabase } from '../shared/wiring.ts';

const endpoint = {
  archiveKind: required(environment.archiveKind),
  records: exportRecords(promptDatabase()),
};

/** `GET /export/{archive_kind}` and `GET /export/{archive_kind}/{requestId}`, behind the administrators' authorizer. */
export const handler = bufferedHandler(proxyChallenge, (request) =>
  (request.pathParameters.has('requestId') ? showExport : listExports)(request, endpoint),
);
