import { percentDecoded } from '../../common/percent.ts';
import { isReceiptName, receiptMediaType } from '../../contract/delivery.ts';
import { fileSizeHeader } from '../../contract/http.ts';
import { isOutboxFileName } from '../../contract/outbox-key.ts';
import { DataOutError } from '../../errors.ts';
import type { VisaRules } from '../../visas/index.ts';
import { commonHeaders, type HttpReply, locationReply, redirectWanted } from '../http/reply.ts';
import { type HttpRequest, singleQuery } from '../http/request.ts';
import { type Access, accessOf, callerOf, type Recipient } from './caller.ts';
import type { OutboxReader, StagedFile } from './ports.ts';

export interface DownloadEndpoint {
  readonly rules: VisaRules;
  readonly outbox: Pick<OutboxReader, 'find' | 'presign'>;
  /** Called for every success, before the reply goes out. */
  readonly served: (access: FileAccess) => void;
}

/** A file and its caller, for the log: GET gave a URL of it, HEAD its size. */
export interface FileAccess extends Access {
  readonly method: string;
  readonly fileName: string;
}

/**
 * `GET|HEAD /stream/{file}[?fileName=][&redirect=false]`. GET answers 307 to a presigned S3 URL, which honours `Range`;
 * or, with `redirect=false`, 200 with that URL as JSON. HEAD answers with the size, because a URL signed for GET does
 * not serve it. A length of this reply would not be the file's, so it has none.
 * @throws `not_found`, the same for a name that cannot be, is missing, or is another recipient's
 */
export async function grantDownload(request: HttpRequest, endpoint: DownloadEndpoint): Promise<HttpReply> {
  const { rules, outbox } = endpoint;
  const caller = await callerOf(request, rules);
  const redirect = redirectWanted(request);
  const name = requestedName(request);
  const found = await findFile(outbox, caller.recipients, name);
  if (!found)
    throw new DataOutError(
      'not_found',
      'there is no such file in your outbox: GET /files?inbox=false lists your files',
    );
  const { prefix, file } = found;
  const served = () =>
    endpoint.served({ ...accessOf(request, caller, [found]), method: request.method, fileName: file.name });
  if (request.method === 'HEAD') {
    served();
    return {
      status: 200,
      headers: {
        ...commonHeaders(request.requestId),
        'Content-Type': isReceiptName(file.name) ? receiptMediaType : 'application/octet-stream',
        [fileSizeHeader]: String(file.size),
        'Content-Disposition': `attachment; filename="${file.name}"`,
        'Accept-Ranges': 'bytes',
        ETag: file.etag.startsWith('"') ? file.etag : `"${file.etag}"`,
        'Last-Modified': file.lastModified.toUTCString(),
      },
      body: '',
    };
  }
  const { url, expiresAt } = await outbox.presign(prefix, name);
  served();
  return locationReply(request.requestId, { url, expiresAt, size: file.size }, redirect);
}

/** The container of that name, and the recipient's part of the outbox that holds it. The first recipient wins. */
export async function findFile(
  outbox: Pick<OutboxReader, 'find'>,
  recipients: readonly Recipient[],
  name: string,
): Promise<{ readonly prefix: string; readonly file: StagedFile } | undefined> {
  if (!isOutboxFileName(name)) return undefined;
  for (const { prefix } of recipients) {
    const file = await outbox.find(prefix, name);
    if (file) return { prefix, file };
  }
  return undefined;
}

/**
 * The name asked for: the query parameter `fileName` when given, else the path segment. Staged names hold no space,
 * `+` or `%`: however a client or the gateway encodes these, there is no file of such a name.
 */
function requestedName(request: HttpRequest): string {
  return singleQuery(request, 'fileName') || percentDecoded(request.pathParameters.get('file') ?? '');
}
