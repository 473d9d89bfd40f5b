import { limits } from '../../../contract/limits.ts';
import { NotFoundError } from '../../../errors.ts';
import {
  asCallersError,
  callersError,
  formatOf,
  openPart,
  type PartForm,
  parsePart,
  type TicketPart,
} from '../../../regions/index.ts';
import { nameDamagedFile } from '../../archive/archived-file.ts';
import type { Archive, ArchivedFile, Catalogue } from '../../archive/ports.ts';
import { bearerToken, verifiedToken } from '../../http/authorization.ts';
import type { HttpReply, ReplyBody } from '../../http/reply.ts';
import { decodedSegment, type HttpRequest } from '../../http/request.ts';
import { accessRefused, pathIdentifier } from '../access.ts';
import { bodyBytes } from '../container.ts';
import {
  displayFileName,
  type ReplyOutcome,
  type Representation,
  representationReply,
  sha256,
} from '../representation.ts';
import { grantedFile } from './named-file.ts';

import type { OpenedFile } from './plain-files.ts';
import type { RegionCatalogue } from './ports.ts';
import type { TicketEndpoint } from './serve-ticket.ts';
import { isTicketToken, ticketPath, verifyTicket } from './token.ts';

/** What the data route needs. */
export interface PartEndpoint extends Omit<TicketEndpoint, 'issued' | 'catalogue'> {
  readonly catalogue: RegionCatalogue & Pick<Catalogue, 'findReleasedFile'>;
  readonly archive: Archive;
  /** Called for every part that was handed over, when its reply has ended. */
  readonly served: (part: ServedPart) => void;
}

/** Which part was handed over, and how that went. */
export interface ServedPart extends ReplyOutcome {
  readonly requestId: string;
  readonly fileId: string;
  readonly datasetId: string;
  readonly kind: PartForm['kind'];
}

/**
 * `GET|HEAD /htsget/parts/{id}/{part}`: one piece of a ticket, with the ticket's token or a visa. Deny list and release are
 * looked at again.
 *
 * @throws UnauthenticatedError, ForbiddenError, UnsupportedFormatError, RangeNotSatisfiableError, PreconditionFailedError,
 * ReplyTooLargeError, ArchiveDamagedError, TemporarilyUnavailableError; NotFoundError for what no ticket names now
 */
export async function servePart(request: HttpRequest, endpoint: PartEndpoint): Promise<HttpReply<ReplyBody>> {
  const file = await allowedFile(request, endpoint);
  const { files, served } = endpoint;
  const { fileId, datasetId } = file;
  const part = parsePart(decodedSegment(request.pathParameters.get('part') ?? ''));
  if (!part || sizeOf(part.form) > limits.streamedReplyBytes) throw new NotFoundError(noTicket);
  return nameDamagedFile(fileId, async () => {
    const opened = await files.open(file);
    if (opened.version !== part.version) throw new NotFoundError('the file was replaced: ask for a new ticket');
    const representation = await asCallersError(() => partOf(opened, part, endpoint));
    const { requestId } = request;
    return representationReply(request, representation, (outcome) =>
      served({ requestId, fileId, datasetId, kind: part.form.kind, ...outcome }),
    );
  });
}

const noTicket = 'no ticket has such a URL';

/** Roughly. */
function sizeOf(form: PartForm): number {
  if (form.kind === 'header') return 0;
  return form.kind === 'segments' ? form.end - form.start : form.range.end.block - form.range.start.block;
}

async function allowedFile(
  request: HttpRequest,
  { rules, catalogue, ticketKeys: keys, now }: PartEndpoint,
): Promise<ArchivedFile> {
  const token = bearerToken(request);
  if (!isTicketToken(token)) {
    const { grants } = await verifiedToken(token, rules);
    return (await grantedFile({ fileId: pathIdentifier(request, 'id') }, grants, catalogue, [])).data;
  }
  const { denied } = rules;
  const { datasetId } = await verifyTicket(token, ticketPath(request.pathParameters), { keys, denied, now });
  const file = await catalogue.findReleasedFile({ fileId: pathIdentifier(request, 'id'), datasetId });
  if (!file) throw accessRefused();
  return file;
}

async function partOf(opened: OpenedFile, part: TicketPart, { files, archive }: PartEndpoint): Promise<Representation> {
  const { file, body, plain } = opened;
  const { form } = part;
  const common = {
    etag: `"${sha256(JSON.stringify(part))}"`,
    mediaType: 'application/octet-stream',
    fileName: displayFileName(file),
  };
  if (form.kind === 'segments') {
    const { start, end } = form;
    if (end > body.bodySize) throw new NotFoundError('the file ends before this part');
    const size = end - start;
    return {
      ...common,
      size,
      stream: (from, to) => bodyBytes(archive, body, [{ start: start + from, end: start + to }]),
    };
  }
  const format = formatOf(file.submissionFilePath);
  if (!format) throw new NotFoundError('the file has no format of htsget');
  if (form.kind === 'header') {
    const { bytes } = (await files.withHead(file, format)).head;
    return { ...common, size: bytes.length, stream: (from, to) => slices([bytes], from, to) };
  }
  const { start, end } = form.range;
  if (end.block > plain.size) throw new NotFoundError('the file ends before this part');
  if (format === 'CRAM' && start.within + end.within > 0) throw new NotFoundError(noTicket);
  const opening = await openPart(plain, format, form.range);
  return { ...common, size: opening.size, stream: (from, to) => slices(opening.stream(), from, to) };
}

/** Bytes [start, end) of the pieces, in their own memory: the reply gives it back. */
async function* slices(pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, start: number, end: number) {
  let position = 0;
  try {
    for await (const piece of pieces) {
      const wanted = piece.subarray(Math.max(0, start - position), Math.max(0, end - position));
      position += piece.length;
      if (wanted.length > 0) yield Uint8Array.from(wanted);
      if (position >= end) return;
    }
  } catch (error) {
    throw callersError(error);
  }
}
