import { environment } from '../../lib/contract/environment.ts';
import { RdsCatalogue } from '../../lib/stores/rds/catalogue.ts';
import { RdsExportLog } from '../../lib/stores/rds/export-log.ts';
import { sqsClient } from '../../lib/stores/sqs/client.ts';
import { SqsFileExports } from '../../lib/stores/sqs/file-exports.ts';
import { consumeRecord } from '../shared/consume-record.ts';
import { database } from '../shared/database.ts';
import { required } from '../shared/environment.ts';
import { queueHandler } from '../shared/queue.ts';
import { deployedVisaRules } from '../shared/visa-rules.ts';

const sqs = sqsClient();
const data = database();

/** Consumer of `export-requests`: decides on one export request and fans it out into files. */
export const handler = queueHandler({
  sqs,
  queueUrl: required(environment.exportRequestsQueueUrl),
  retryDelaysSeconds: required(environment.retryDelaysSeconds),
  handle: consumeRecord({
    catalogue: new RdsCatalogue(data),
    fileExports: new SqsFileExports({ client: sqs, queueUrl: required(environment.fileExportsQueueUrl) }),
    log: new RdsExportLog(data),
    rules: deployedVisaRules(),
  }),
});
