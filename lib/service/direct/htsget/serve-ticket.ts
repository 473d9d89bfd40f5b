import { DataOutError, isError } from '../../../errors.ts';
import {
  askedRanges,
  type Datatype,
  formatOf,
  htsgetType,
  type PartForm,
  partName,
  plaintextTicket,
  type RegionIndex,
  servedFormat,
} from '../../../regions/index.ts';
import type { VisaRules } from '../../../visas/index.ts';
import { nameDamagedFile } from '../../archive/archived-file.ts';
import type { ArchivedFile, ArchiveKeys, Clock } from '../../archive/ports.ts';
import { bearerToken, verifiedToken } from '../../http/authorization.ts';
import { commonHeaders, type HttpReply } from '../../http/reply.ts';
import type { HttpRequest } from '../../http/request.ts';
import { encryptedTicket } from './encrypted-ticket.ts';
import { grantedFile, indexNames, namedFile } from './named-file.ts';
import type { PlainFiles } from './plain-files.ts';
import type { RegionCatalogue } from './ports.ts';
import { type TicketRequest, ticketRequest } from './request.ts';
import { claimsOf, signTicket, type TicketKeys, ticketExpiry } from './token.ts';

/** What the ticket routes need. */
export interface TicketEndpoint {
  readonly rules: VisaRules;
  readonly catalogue: RegionCatalogue;
  readonly archiveKeys: ArchiveKeys;
  readonly files: PlainFiles;
  readonly ticketKeys: TicketKeys;
  readonly now: Clock;
  /** Called for every ticket, before the reply goes out. */
  readonly issued: (ticket: IssuedTicket) => void;
}

/** Which ticket was given, for the log. */
export interface IssuedTicket {
  readonly requestId: string;
  readonly fileId: string;
  readonly datasetId: string;
  readonly kind: 'plaintext' | 'container';
  /** Of the document. */
  readonly bytes: number;
}

const mebibyte = 2 ** 20;
/** Most bytes that a ticket holds itself, header included: Lambda's reply has 6 MB. */
export const inlinedBytes = 4 * mebibyte;
/** Bytes of one part, the usual size first. */
const partSizes = [5, 10, 20, 40, 64].map((size) => size * mebibyte);

/**
 * `GET|POST /htsget/{reads,variants}/{id}`: a ticket for the whole file, its header, or regions of it; as plaintext or as a
 * Crypt4GH container for a key of the caller.
 *
 * @param datatype `undefined`: that of the file, for clients that do not look at it
 * @param baseUrl of the API, without a slash at the end
 * @throws `not_found` for an unknown reference name
 */
export async function serveTicket(
  request: HttpRequest,
  datatype: Datatype | undefined,
  baseUrl: string,
  endpoint: TicketEndpoint,
): Promise<HttpReply> {
  const { rules, catalogue, archiveKeys, files, now, issued } = endpoint;
  const { grants } = await verifiedToken(bearerToken(request), rules);
  const asked = ticketRequest(request, datatype ?? 'reads');
  const { data, index: indexFile, grant } = await grantedFile(namedFile(request), grants, catalogue, indexNames);
  const { fileId, datasetId } = data;
  const format = servedFormat(data.submissionFilePath, datatype, asked.format);
  const reading = indexFor(asked, data, indexFile, files);
  // Its error is left to whoever awaits it.
  reading.catch(() => {});
  const opened = await files.withHead(data, format);
  const key = await endpoint.ticketKeys.current();
  const claims = claimsOf(grant, datasetId);
  const urlOf = (form: PartForm, bytes: number) => {
    const name = partName({ version: opened.version, form });
    const expiresAt = ticketExpiry(grant, bytes, now());
    const token = signTicket({ ...claims, expiresAt, path: `${fileId}/${name}` }, key);
    const url = [baseUrl, 'htsget/parts', encodeURIComponent(fileId), name].join('/');
    return { url, headers: { Authorization: `Bearer ${token}`, ...(asked.withRange && { Range: 'bytes=0-' }) } };
  };
  const { recipient } = asked;
  const file = { source: opened.plain, head: opened.head, index: await reading };
  const document = await nameDamagedFile(fileId, async () => {
    const ranges = askedRanges(asked, file.head, file.index);
    const options = { format, urlOf, partSizes };
    if (!recipient) return await plaintextTicket(file, ranges, { ...options, inlinedBytes });
    if (asked.headerOnly && file.head.end.within > 0) {
      throw new DataOutError(
        'unsupported_format',
        'The header ends within a block that also has records: ask for it as plaintext.',
      );
    }
    const isWhole = !asked.regions && !asked.headerOnly;
    return await encryptedTicket(opened, isWhole ? undefined : { file, ranges }, { recipient, archiveKeys }, options);
  });
  const kind = recipient ? 'container' : 'plaintext';
  issued({ requestId: request.requestId, fileId, datasetId, kind, bytes: document.length });
  const headers = { ...commonHeaders(request.requestId), 'Content-Type': htsgetType };
  return { status: 200, headers, body: document };
}

/** Regions need it. A whole CRAM in parts is cut between the containers that it names, if it can be read. */
async function indexFor(
  { regions, headerOnly, recipient }: TicketRequest,
  { submissionFilePath, archiveFileSize }: ArchivedFile,
  index: ArchivedFile | undefined,
  files: PlainFiles,
): Promise<RegionIndex | undefined> {
  if (regions && !index) {
    throw new DataOutError(
      'unsupported_format',
      'No index is archived beside the file: only the whole file can be had.',
    );
  }
  const isInParts = !headerOnly && !recipient && archiveFileSize > inlinedBytes;
  const isUseful = regions || (isInParts && formatOf(submissionFilePath) === 'CRAM');
  if (!index || !isUseful) return undefined;
  return files.index(index, archiveFileSize).catch((error: unknown) => {
    if (regions || !isError(error, 'unsupported_format')) throw error;
    return undefined;
  });
}
