import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { limits } from '../../../contract/limits.ts';
import { outboxPrefix } from '../../../contract/outbox-key.ts';
import { formatPublicKey, publicKeyFingerprint } from '../../../crypt4gh/index.ts';
import { UsageError, usageError } from '../../../terminal/errors.ts';
import type { Terminal } from '../../../terminal/terminal.ts';
import type { DeliveryApi, ExportRequest } from '../../api/delivery-api.ts';
import { UnavailableError } from '../../api/errors.ts';
import { decodeVisaOrPassport, expiryOf } from '../../api/order/decoded-visa.ts';
import { doubtsOf, isIdentifier, isLongExpired, type OrderType } from '../../api/order/order-rules.ts';
import { hasSeveralDatasets } from '../../api/visa-choice.ts';
import { readPublicKey } from '../key-files.ts';
import { checkedVisa, readSecretFile, refuseToken } from '../secrets.ts';

/** An administrator's order, as typed. Paths are relative to the terminal's folder. */
export interface ExportWords {
  readonly id: string;
  readonly type: OrderType;
  readonly kind: string;
  readonly visa: string;
  readonly publicKey: string;
}

/** A checked order, and its facts for the administrator. Nothing of the visa is verified. */
export type ExportOrder = Awaited<ReturnType<typeof readOrder>>;

/**
 * Reads the files of an order and checks visa and key, because the service answers before it checks them.
 * @param sources what names the files: options, or columns of a batch
 * @returns the request, the SHA-256 of the recipient's key, and why the service will probably refuse it
 * @throws UsageError for an unusable key, or an unusable or expired visa; ClientError `not_found`
 */
export async function readOrder(
  words: ExportWords,
  sources: Pick<ExportWords, 'visa' | 'publicKey'>,
  terminal: Terminal,
) {
  const { id, type, kind } = words;
  if (!isIdentifier(id)) throw usageError('id', 'expected an identifier of 1 to 256 characters');
  refuseToken(sources.visa, words.visa);
  const path = resolve(terminal.folder, words.visa);
  const given = await readSecretFile(sources.visa, path);
  if (type === 'fileId' && hasSeveralDatasets(given)) {
    const remedy = "Save the visa of the file's dataset: data-out visas save.";
    throw usageError(sources.visa, `${path} has visas for several datasets, and a file id does not say which`, remedy);
  }
  const { token: visa } = await checkedVisa(sources.visa, given, { dataset: id });
  const publicKey = await readPublicKey(sources.publicKey, words.publicKey, terminal);
  const token = decodeVisaOrPassport(visa);
  if (token === undefined) {
    const what = `${path} holds neither a GA4GH visa nor a passport`;
    throw usageError(sources.visa, what, 'Ask the recipient for theirs.');
  }
  const expires = expiryOf(token);
  if (expires && isLongExpired(token, terminal.now())) {
    throw new UsageError(`${sources.visa}: the visa in ${path} expired at ${expires.toISOString()}`, {
      remedy: 'Ask the recipient for a new one; data-out doctor says whether this clock is right.',
    });
  }
  const request: ExportRequest = { id, type, kind, visa, publicKey: formatPublicKey(publicKey) };
  const about = { recipient: token.visas[0], visaExpires: expires, doubts: doubtsOf(words, token, terminal.now()) };
  return { request, fingerprint: publicKeyFingerprint(publicKey), ...about };
}

/** Sends an order, once. The service can accept it now and reject it later. @throws UnavailableError `mayBeDone` if its answer did not come; ClientError */
export async function sendOrder(proxy: DeliveryApi, { request }: ExportOrder, signal: AbortSignal) {
  try {
    return await proxy.export(request, { signal });
  } catch (error) {
    if (!(error instanceof UnavailableError && error.mayBeDone)) throw error;
    const remedy = `data-out admin list --kind ${request.kind} shows whether it was. Only if not, send it again.`;
    const how = { mayBeDone: true, remedy, cause: error };
    throw new UnavailableError(`${error.message}. It may have been taken`, how);
  }
}

/** The request of an order, sent at `sentAt`, whose answer was lost; `undefined`: the service has none. @throws ClientError */
export async function findOrder(
  proxy: DeliveryApi,
  { request: { id, type, kind = '' }, fingerprint, recipient }: ExportOrder,
  sentAt: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  // Clocks differ.
  const since = new Date(Date.parse(sentAt) - 300_000).toISOString();
  const owner = recipient && outboxPrefix({ iss: recipient.issuer, sub: recipient.subject });
  for (let page = 0; ; page += 1) {
    const rows = await proxy.exports({ kind, since, page, signal });
    const found = rows.find(({ dataset, file, keyFingerprint, recipient: prefix }) => {
      const isOfId = type === 'fileId' ? file === id : file === null && dataset === id;
      return isOfId && keyFingerprint === fingerprint && prefix === owner;
    });
    if (found || rows.length < limits.exportsPerPage) return found?.requestId;
  }
}

/** The same order at the same address has the same digest. It reveals nothing of the visa. */
export function orderDigest({ request }: ExportOrder, proxyUrl: URL | undefined): string {
  const { id, type, kind, visa, publicKey } = request;
  const parts = [proxyUrl?.href ?? '', kind, type, id, publicKey, visa];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
