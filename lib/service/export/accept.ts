import * as z from 'zod';
import { limits } from '../../contract/limits.ts';
import type { ExportRequestMessage } from '../../contract/messages.ts';
import { outboxPrefix } from '../../contract/outbox-key.ts';
import { Crypt4ghError, parsePublicKey, publicKeyFingerprint } from '../../crypt4gh/index.ts';
import { type DataOutError, isError, unavailable } from '../../errors.ts';
import { type DatasetGrant, VisaError, type VisaRules } from '../../visas/index.ts';
import { type Entitlement, grantedAndReleased } from '../archive/entitlement.ts';
import type { Catalogue } from '../archive/ports.ts';
import { datasetNamed, isIngested } from '../catalogue/datasets.ts';
import { cleanUpMs } from '../containers/write-container.ts';
import { count, nilUuid, snakeCase } from '../stores/rds/columns.ts';
import type { DataApi, SqlExecutor } from '../stores/rds/data-api.ts';
import { expectedBytes, fitsQuota, type OutboxQuota } from './quota.ts';
import { identityOf, parseExportRequest, type ReceivedMessage, type RequestIdentity, rejection } from './received.ts';
import { audit, findRequest, lockRecipient, requestIds } from './requests.ts';
import { type SendDependencies, sendWaiting } from './send.ts';

export interface ConsumeDependencies extends SendDependencies {
  readonly db: Pick<DataApi, 'query' | 'execute' | 'transaction'>;
  readonly catalogue: Pick<Catalogue, 'evaluateAccess' | 'hasMoreFiles'>;
  readonly rules: Pick<VisaRules, 'verify'>;
  /** @default - every request fits */
  readonly quota?: OutboxQuota | undefined;
  /** Memberships that one statement looks at. @default 10,000, which take a second at most: a statement of the Data API may take 45 */
  readonly membersAtOnce?: number;
}

/** What is known of a request when it is decided: with `fileId`, one file was asked for, and otherwise the whole dataset. */
type RequestFacts = RequestIdentity &
  Partial<Record<'datasetId' | 'fileId' | 'recipient' | 'keyFingerprint', string | undefined>>;

/** A request that is carried out. */
type AcceptedRequest = Awaited<ReturnType<typeof decide>>;

/**
 * Carry out one export request: decide on it, write its row and those of all its files, and send a message for each file. A message whose
 * request exists is not judged again, so a visa that expires meanwhile cannot cut an export in half. Its files that wait are sent.
 *
 * @param remainingMs milliseconds until the invocation ends
 * @returns how the request was decided. Its message is deleted in both cases.
 */
export async function consumeExportRequest(
  received: ReceivedMessage,
  dependencies: ConsumeDependencies,
  remainingMs: () => number,
) {
  const { db } = dependencies;
  let facts: RequestFacts = { requestId: received.messageId, requestedAt: received.sentAt, archiveKind: undefined };
  let detail = 'an earlier delivery of the message rejected it';
  try {
    facts = identityOf(received);
    if (!(await findRequest(db, facts.requestId))) {
      await accept(await decide(received, facts, dependencies), dependencies, remainingMs() - cleanUpMs);
    }
  } catch (error) {
    const rejected = rejectionOf(error);
    detail = rejected.message;
    await reject(db, facts, rejected.reason ?? '');
  }
  const { requestId } = facts;
  const request = await findRequest(db, requestId);
  if (!request) throw unavailable('the row of the request is gone');
  if (request.state === 'rejected')
    return { outcome: 'rejected' as const, requestId, reason: request.reason ?? '', detail };
  await sendWaiting(requestId, dependencies, () => remainingMs() > cleanUpMs);
  return { outcome: 'accepted' as const, requestId, datasetId: request.datasetId ?? '', files: request.files };
}

/** Why an error rejects the request. Every other error is thrown again, and brings the message back. */
function rejectionOf(error: unknown): DataOutError {
  if (error instanceof VisaError) return rejection(`visa_${error.code}`, error.message);
  if (error instanceof Crypt4ghError) return rejection('unusable_public_key', error.code);
  if (isError(error, 'request_rejected')) return error;
  throw error;
}

/** Parse → verify the visa → resolve the identifier → entitled? → released? → not too large? @param facts are filled in on the way */
async function decide(received: ReceivedMessage, facts: RequestFacts, { rules, catalogue }: ConsumeDependencies) {
  const message = parseExportRequest(received);
  Object.assign(facts, { datasetId: message.datasetId, fileId: message.fileId });
  const publicKey = parsePublicKey(message.publicKey);
  facts.keyFingerprint = publicKeyFingerprint(publicKey);
  const verified = await rules.verify(message.jwtToken);
  const { datasetId, grants } = await entitlementTo(message, verified.grants, catalogue);
  const [{ subject, dependsOn: hashes, expiresAt: visaExpiresAt }] = grants;
  const recipient = outboxPrefix(subject);
  Object.assign(facts, { datasetId, recipient });
  if (message.fileId === undefined && (await catalogue.hasMoreFiles(datasetId, limits.filesPerExport))) {
    throw rejection('too_many_files', `the dataset has more than ${limits.filesPerExport} files: export it by parts`);
  }
  // By these, besides the recipient, the deny list knows the visa.
  const dependsOn = hashes.filter((hash) => hash !== recipient);
  return { ...facts, datasetId, recipient, publicKey, dependsOn, visaExpiresAt };
}

/**
 * The dataset through which the request is served. A file may be in several that are granted and released; the first by id is
 * taken, so that every delivery of the message takes the same one.
 */
async function entitlementTo(
  { datasetId, fileId }: ExportRequestMessage,
  grants: readonly DatasetGrant[],
  catalogue: ConsumeDependencies['catalogue'],
): Promise<Entitlement> {
  const wanted = fileId === undefined ? { datasetId: datasetId ?? '' } : { fileId };
  const { known, granted, entitlements } = await grantedAndReleased(catalogue, grants, wanted);
  if (!known && fileId === undefined) throw rejection('unknown_dataset', 'no dataset has this id or alias');
  if (!known) throw rejection('unknown_file', 'no dataset holds a file of this id');
  if (!granted) throw rejection('not_entitled', 'no visa grants the dataset');
  const [entitlement] = entitlements;
  if (!entitlement) throw rejection('not_released', 'the dataset is granted and not released');
  return entitlement;
}

/**
 * Write the request and all its files in one transaction, under the lock of the recipient. The quota comes before the rows, because
 * a transaction that is abandoned holds its lock for up to three minutes.
 */
async function accept(request: AcceptedRequest, dependencies: ConsumeDependencies, budgetMs: number): Promise<void> {
  const { db, quota, membersAtOnce = 10_000 } = dependencies;
  const { requestId, recipient, publicKey } = request;
  await db.transaction(async (transaction) => {
    await lockRecipient(transaction, recipient);
    if (await findRequest(transaction, requestId)) return;
    if (quota && !(await fitsQuota(transaction, recipient, wantedFiles(request), quota))) {
      throw rejection('outbox_quota_exceeded', "the recipient's part of the outbox would exceed its quota");
    }
    const files = await addFiles(transaction, request, membersAtOnce);
    if (files === 0) throw rejection('nothing_to_export', 'the dataset holds no file');
    const key = Buffer.from(publicKey).toString('base64');
    const isNew = await insertRequest(transaction, { ...request, publicKey: key, state: 'accepted', files });
    if (!isNew) throw unavailable('another delivery decided on the request at the same time');
  }, budgetMs);
}

/** Record that a request is rejected. One that exists stays as it is: an answer may have been lost after its commit. */
export async function reject(db: SqlExecutor, request: RequestFacts, reason: string): Promise<void> {
  // Nothing is left to be settled.
  await insertRequest(db, { ...request, state: 'rejected', reason, files: 0, settledRevision: 1 });
}

/** Write a request and its audit row. @param row columns of `data_out.requests` @returns `false` when the request exists */
async function insertRequest(
  db: SqlExecutor,
  row: RequestFacts & { readonly state: 'accepted' | 'rejected'; readonly [column: string]: unknown },
): Promise<boolean> {
  const kind = row.fileId !== undefined ? 'file' : row.datasetId !== undefined ? 'dataset' : undefined;
  const decided = await requestIds(
    db,
    `with decided as (
       insert into data_out.requests
         (request_id, requested_at, archive_kind, kind, dataset_id, file_id, recipient, key_fingerprint, public_key, depends_on,
          visa_expires_at, state, reason, files, settled_revision, settled_at)
       select request_id, requested_at, archive_kind, kind, dataset_id, file_id, recipient, key_fingerprint, public_key, depends_on,
         visa_expires_at, state, reason, files, settled_revision, case state when 'rejected' then now() end
       from jsonb_populate_record(cast(null as data_out.requests), cast(:row as jsonb))
       on conflict (request_id) do nothing
       returning *
     ), audited as (${audit(`select request_id, state, reason, archive_kind, dataset_id, file_id, recipient, key_fingerprint,
       cast(null as bigint), cast(null as text) from decided`)})
     select cast(request_id as text) as request_id from decided`,
    { row: { json: snakeCase({ settledRevision: 0, ...row, kind }) } },
  );
  return decided.length > 0;
}

/** The files that a request is about, for its quota. */
function wantedFiles({ datasetId, fileId }: AcceptedRequest) {
  const files =
    fileId === undefined
      ? `sda.file_dataset m join sda.files f on f.id = m.file_id
         where m.dataset_id = ${datasetNamed(':wanted')} and ${isIngested}`
      : 'sda.files f where f.stable_id = :wanted';
  return { sql: `select f.stable_id, ${expectedBytes} from ${files}`, parameters: { wanted: fileId ?? datasetId } };
}

/** Write a row for each file. @returns how many */
async function addFiles(
  transaction: SqlExecutor,
  { requestId, datasetId, fileId }: AcceptedRequest,
  membersAtOnce: number,
): Promise<number> {
  const [page, isWanted] =
    fileId === undefined
      ? [
          `select m.file_id as id from sda.file_dataset m
           where m.dataset_id = ${datasetNamed(':wanted')} and m.file_id > cast(:after as uuid)
           order by m.file_id limit ${membersAtOnce}`,
          isIngested,
        ]
      : ['select f.id from sda.files f where f.stable_id = :wanted and f.id > cast(:after as uuid)', 'true'];
  let files = 0;
  for (let after = nilUuid; ; ) {
    const [done] = await transaction.query(
      z.object({ members: count, added: count, last: z.string().nullable() }),
      `with page as materialized (${page}), added as (
         insert into data_out.request_files (request_id, file_id, state, bytes)
         select cast(:request_id as uuid), f.stable_id, 'waiting', ${expectedBytes}
         from page cross join lateral (select * from sda.files f where f.id = page.id offset 0) f where ${isWanted}
         returning 1
       )
       select (select count(*) from page) as members, (select count(*) from added) as added,
         (select cast(p.id as text) from page p order by p.id desc limit 1) as last`,
      { request_id: { uuid: requestId }, wanted: fileId ?? datasetId, after: { uuid: after } },
    );
    files += done?.added ?? 0;
    if (!done?.last || done.members < membersAtOnce) return files;
    after = done.last;
  }
}
