import { planRearrangement, publicKeyFingerprint } from '../../../crypt4gh/index.ts';
import { UnsupportedFormatError } from '../../../errors.ts';
import {
  asCallersError,
  askedRanges,
  type Datatype,
  endMarkers,
  formatOf,
  formatsOf,
  keptRanges,
  partName,
  type RegionIndex,
  reachEnd,
  readRecords,
  splitter,
  type VirtualRange,
} from '../../../regions/index.ts';
import type { VisaRules } from '../../../visas/index.ts';
import { headerFor, nameDamagedFile, storedEditList } from '../../archive/archived-file.ts';
import type { ArchivedFile, ArchiveKeys, Clock } from '../../archive/ports.ts';
import { bearerToken, verifiedToken } from '../../http/authorization.ts';
import type { HttpReply } from '../../http/reply.ts';
import type { HttpRequest } from '../../http/request.ts';
import { indexNames } from './index-names.ts';
import { ticketReply } from './model.ts';
import { grantedFile, namedFile } from './named-file.ts';
import type { OpenedWithHead, PlainFiles } from './plain-files.ts';
import type { RegionCatalogue } from './ports.ts';
import { type TicketRequest, ticketRequest } from './request.ts';
import { inlinedBytes, inlinedTicket, type Piece, segmentParts, type TicketOptions, ticketInParts } from './ticket.ts';
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

/** An opened file, and what is wanted of it. */
interface Wanted {
  readonly opened: OpenedWithHead;
  readonly index: RegionIndex | undefined;
  readonly asked: TicketRequest;
  /** Where the records lie. */
  readonly ranges: readonly VirtualRange[];
}

/** Most ranges that an edit list keeps: a reader in the field fails at more. */
const mostKept = 10;
/** Most bytes of a block, which a range ends within. */
const blockBytes = 65_536;

/**
 * `GET|POST /htsget/{reads,variants}/{id}`: a ticket for the whole file, its header, or regions of it; as plaintext or as a
 * Crypt4GH container for a key of the caller.
 *
 * @param baseUrl of the API, without a slash at the end
 * @throws UnauthenticatedError, InvalidRequestError, InvalidRangeError, RequestTooLargeError, ForbiddenError,
 * UnsupportedFormatError, ArchiveDamagedError, TemporarilyUnavailableError; NotFoundError for an unknown reference name
 */
export async function serveTicket(
  request: HttpRequest,
  datatype: Datatype,
  baseUrl: string,
  endpoint: TicketEndpoint,
): Promise<HttpReply> {
  const { rules, catalogue, files, now, issued } = endpoint;
  const { grants } = await verifiedToken(bearerToken(request), rules);
  const asked = ticketRequest(request, datatype);
  const { data, index: indexFile, grant } = await grantedFile(namedFile(request), grants, catalogue, indexNames);
  const format = formatOf(data.submissionFilePath);
  if (!format || !formatsOf[datatype].includes(format) || (asked.format ?? format) !== format) {
    throw new UnsupportedFormatError(
      format
        ? `The file is ${format}; no other format of it is available.`
        : 'The format of the file is not one of htsget.',
    );
  }
  const index = indexFor(asked, data, indexFile, files);
  // Its error is left to whoever awaits it.
  index.catch(() => {});
  const opened = await files.withHead(data, format);
  const wanted = await asCallersError(async () => wantedOf(opened, await index, asked, files));
  const key = await endpoint.ticketKeys.current();
  const { fileId, datasetId } = data;
  const optionsFor = (bytes: number): TicketOptions => {
    const claims = claimsOf(grant, datasetId, ticketExpiry(grant, bytes, now()));
    return {
      format,
      urlOf: (form) => {
        const name = partName({ version: opened.version, form });
        const token = signTicket({ ...claims, path: `${fileId}/${name}` }, key);
        const url = [baseUrl, 'htsget/parts', encodeURIComponent(fileId), name].join('/');
        return { url, headers: { Authorization: `Bearer ${token}`, ...(asked.withRange && { Range: 'bytes=0-' }) } };
      },
    };
  };
  const { recipient } = asked;
  const document = await nameDamagedFile(fileId, () =>
    asCallersError(() =>
      recipient
        ? encryptedTicket(wanted, recipient, endpoint.archiveKeys, optionsFor)
        : plaintextTicket(wanted, optionsFor),
    ),
  );
  const kind = recipient ? 'container' : 'plaintext';
  issued({ requestId: request.requestId, fileId, datasetId, kind, bytes: document.length });
  return ticketReply(request.requestId, document);
}

/** Regions need it. A whole CRAM in parts is cut between the containers that it names, if it can be read. */
async function indexFor(
  { regions, headerOnly, recipient }: TicketRequest,
  { submissionFilePath, archiveFileSize }: ArchivedFile,
  index: ArchivedFile | undefined,
  files: PlainFiles,
): Promise<RegionIndex | undefined> {
  if (regions && !index) {
    throw new UnsupportedFormatError('No index is archived beside the file: only the whole file can be had.');
  }
  const isInParts = !headerOnly && !recipient && archiveFileSize > inlinedBytes;
  const isUseful = regions || (isInParts && formatOf(submissionFilePath) === 'CRAM');
  if (!index || !isUseful) return undefined;
  return files.index(index).catch((error: unknown) => {
    if (regions || !(error instanceof UnsupportedFormatError)) throw error;
    return undefined;
  });
}

async function wantedOf(
  opened: OpenedWithHead,
  index: RegionIndex | undefined,
  asked: TicketRequest,
  files: PlainFiles,
): Promise<Wanted> {
  const ranges = askedRanges(asked, opened.head, index);
  if (!asked.recipient && !reachEnd(ranges, opened.head)) return { opened, index, asked, ranges };
  const ended = await files.withEnd(opened);
  return { opened: ended, index, asked, ranges: askedRanges(asked, ended.head, index) };
}

async function plaintextTicket({ opened, index, ranges }: Wanted, optionsFor: (bytes: number) => TicketOptions) {
  const { head, plain } = opened;
  const { format } = head;
  const total = ranges.reduce((sum, { start, end }) => sum + end.block - start.block + blockBytes, head.bytes.length);
  const options = optionsFor(total);
  const marker: Piece = { class: 'body', bytes: endMarkers[format] };
  const header: Piece = {
    class: 'header',
    ...(head.bytes.length <= inlinedBytes ? { bytes: head.bytes } : { form: { kind: 'header' } }),
  };
  if (total <= inlinedBytes) {
    const records = await readRecords(plain, format, ranges);
    const bodies = records.map((bytes): Piece => ({ class: 'body', bytes }));
    const ticket = inlinedTicket([header, ...bodies, marker], options);
    if (ticket !== undefined) return ticket;
  }
  const split = splitter(ranges, index);
  return ticketInParts(
    total,
    (partBytes) => {
      const parts = split(partBytes);
      return [header, ...parts.map((range): Piece => ({ class: 'body', form: { kind: 'records', range } })), marker];
    },
    options,
  );
}

/**
 * One container over the whole ticket. Of the body nothing is opened but what {@link PlainFiles} needs for the header, and up to
 * two blocks of each region by which `keptRanges` proves a cut near.
 */
async function encryptedTicket(
  wanted: Wanted,
  recipient: Uint8Array,
  archiveKeys: ArchiveKeys,
  optionsFor: (bytes: number) => TicketOptions,
): Promise<string> {
  const { file, body } = wanted.opened;
  const { bodySize } = body;
  const candidates = await archiveKeys.candidates(file.keyHash);
  const ranges = await keptPlaintext(wanted);
  const plan = ranges && planRearrangement({ ranges, editList: storedEditList(file, candidates), bodySize });
  if ((plan?.editList?.length ?? 0) > 2 * mostKept) {
    throw new UnsupportedFormatError('The archived file has an edit list of too many ranges: ask for plaintext.');
  }
  const header = headerFor(file, candidates, recipient, plan && (plan.editList ?? null));
  const bodyRanges = plan?.bodyRanges.map(({ start, end = bodySize }) => ({ start, end })) ?? [
    { start: 0, end: bodySize },
  ];
  const total = bodyRanges.reduce((sum, { start, end }) => sum + end - start, header.length);
  const reader = publicKeyFingerprint(recipient);
  return ticketInParts(
    total,
    (partBytes) => [{ bytes: header }, ...segmentParts(bodyRanges, reader, partBytes)],
    optionsFor(total),
  );
}

/** What is kept of the plaintext; `undefined`: all of it. */
async function keptPlaintext({ opened: { head, plain }, index, asked, ranges }: Wanted) {
  if (asked.regions && index) return keptRanges({ source: plain, head, index }, ranges, { most: mostKept });
  if (!asked.headerOnly) return undefined;
  if (head.sharesBlock) {
    throw new UnsupportedFormatError('The header ends within a block that also has records: ask for it as plaintext.');
  }
  return [
    { start: 0, end: head.end.block },
    { start: head.dataEnd, end: head.size },
  ];
}
