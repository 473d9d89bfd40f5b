import type { OutboxReader } from '../../archive/ports.ts';
import { fileSizeHeader } from '../../contract/headers.ts';
import { isOutboxFileName } from '../../contract/outbox-key.ts';
import { NotFoundError } from '../../errors.ts';
import { locationReply, redirectWanted } from '../../http/redirect.ts';
import { commonHeaders, type HttpReply } from '../../http/reply.ts';
import { type HttpRequest, singleQuery } from '../../http/request.ts';
import type { VisaRules } from '../../visas/index.ts';
import { findRow } from './outbox-rows.ts';
import { type Access, accessOf, callerOf } from './recipients.ts';

/** What `GET|HEAD /stream/{file}` needs. */
export interface StreamEndpoint {
  readonly rules: VisaRules;
  readonly outbox: Pick<OutboxReader, 'find' | 'presign'>;
  /** Told of every success, before the reply goes out. */
  readonly served: (access: FileAccess) => void;
}

/** Who was given which file: with GET a URL of it, with HEAD its size. */
export interface FileAccess extends Access {
  readonly method: string;
  readonly fileName: string;
}

/**
 * `GET|HEAD /stream/{file}[?fileName=][&redirect=false]`. GET answers 307 to a presigned S3 URL, which honours `Range`;
 * or, with `redirect=false`, 200 with that URL as JSON. HEAD answers with the size, because a URL signed for GET does
 * not serve it.
 * @throws NotFoundError, one and the same for a name that cannot be, is not there, or is another recipient's.
 * @throws UnauthenticatedError, InvalidRequestError, TemporarilyUnavailableError
 */
export async function streamFile(request: HttpRequest, endpoint: StreamEndpoint): Promise<HttpReply> {
  const { rules, outbox } = endpoint;
  const caller = await callerOf(request, rules);
  const redirect = redirectWanted(request);
  const name = requestedName(request);
  const found = isOutboxFileName(name) ? await findRow(outbox, caller.recipients, name) : undefined;
  if (!found) throw new NotFoundError('there is no such file in your outbox');
  const { prefix, file } = found;
  const served = () =>
    endpoint.served({ ...accessOf(request, caller, [found]), method: request.method, fileName: file.name });
  if (request.method === 'HEAD') {
    served();
    return {
      status: 200,
      headers: {
        ...commonHeaders(request.requestId),
        'Content-Type': 'application/octet-stream',
        'Content-Length': String(file.size),
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

/**
 * The name asked for: the query parameter `fileName` when given, else the path segment. Staged names hold no space,
 * `+` or `%`, so how a client or the gateway encodes those cannot matter: such a name is simply not there.
 */
function requestedName(request: HttpRequest): string {
  const fileName = singleQuery(request, 'fileName');
  if (fileName) return fileName;
  try {
    return decodeURIComponent(request.pathParameters.get('file') ?? '');
  } catch {
    return '';
  }
}
