import { environment } from '../../lib/contract/environment.ts';
import { RdsCatalogue } from '../../lib/stores/rds/catalogue.ts';
import { RdsExportLog } from '../../lib/stores/rds/export-log.ts';
import { s3Client } from '../../lib/stores/s3/client.ts';
import { S3OutboxWriter } from '../../lib/stores/s3/outbox-writer.ts';
import { sqsClient } from '../../lib/stores/sqs/client.ts';
import { deployedArchive } from '../shared/archive.ts';
import { database } from '../shared/database.ts';
import { visaDenyList } from '../shared/deny-list.ts';
import { required } from '../shared/environment.ts';
import { queueHandler } from '../shared/queue.ts';
import { stageRecord } from '../shared/stage-record.ts';

const client = s3Client();
const { archiveBuckets, archive, archiveKeys } = deployedArchive(client);
const data = database();
const denyList = visaDenyList();

/** Consumer of `file-exports`: stages one file for one recipient. */
export const handler = queueHandler({
  sqs: sqsClient(),
  queueUrl: required(environment.fileExportsQueueUrl),
  retryDelaysSeconds: required(environment.retryDelaysSeconds),
  handle: stageRecord({
    catalogue: new RdsCatalogue(data),
    archive,
    outbox: new S3OutboxWriter({ client, bucket: required(environment.outboxBucket), archiveBuckets }),
    archiveKeys,
    log: new RdsExportLog(data),
    denied: () => denyList.current(),
    now: () => new Date(),
  }),
});
