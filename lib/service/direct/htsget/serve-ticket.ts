import { planRearrangement, publicKeyFingerprint } from '../../../crypt4gh/index.ts';
import { UnsupportedFormatError } from '../../../errors.ts';
import {
  endMarkers,
  type FileHead,
  formatOf,
  keptRanges,
  openPart,
  partsOf,
  type RegionIndex,
  type VirtualRange,
  virtualRangesOf,
  wholeFile,
} from '../../../regions/index.ts';
import type { VisaRules } from '../../../visas/index.ts';
import { headerFor, nameDamagedFile, storedEditList } from '../../archive/archived-file.ts';
import type { ArchivedFile, ArchiveKeys, Clock } from '../../archive/ports.ts';
import { bearerToken, verifiedToken } from '../../http/authorization.ts';
import type { HttpReply } from '../../http/reply.ts';
import type { HttpRequest } from '../../http/request.ts';
import { indexNames } from './index-names.ts';
import { asCallersError, ticketReply } from './model.ts';
import { grantedFile, namedFile } from './named-file.ts';
import { type Datatype, formatsOf } from './names.ts';
import { partName } from './part-name.ts';
import { inMemory, type OpenedFile, type PlainFiles } from './plain-files.ts';
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
  readonly opened: OpenedFile & { readonly head: FileHead };
  readonly index: RegionIndex | undefined;
  readonly asked: TicketRequest;
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
  const index = asked.regions ? files.index(expectIndex(indexFile)) : undefined;
  const opened = await withoutWaiting(index, () => files.withHead(data, format));
  const wanted = { opened, index: await index, asked };
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

function expectIndex(index: ArchivedFile | undefined): ArchivedFile {
  if (index) return index;
  throw new UnsupportedFormatError('No index is archived beside the file: only the whole file can be had.');
}

/** The result of `task`. An error of the other work, which goes on at the same time, is left to whoever awaits it. */
async function withoutWaiting<T>(other: Promise<unknown> | undefined, task: () => Promise<T>): Promise<T> {
  other?.catch(() => {});
  return task();
}

async function plaintextTicket({ opened, index, asked }: Wanted, optionsFor: (bytes: number) => TicketOptions) {
  const { head, plain } = opened;
  const { format } = head;
  const ranges = wantedRanges({ opened, index, asked });
  const total = ranges.reduce((sum, { start, end }) => sum + end.block - start.block + blockBytes, head.bytes.length);
  const options = optionsFor(total);
  const marker: Piece = { class: 'body', bytes: endMarkers[format] };
  const header: Piece = {
    class: 'header',
    ...(head.bytes.length <= inlinedBytes ? { bytes: head.bytes } : { form: { kind: 'header' } }),
  };
  if (total <= inlinedBytes) {
    const bodies: Piece[] = [];
    for (const range of ranges) {
      const source = await inMemory(plain, range.start.block, range.end.block + blockBytes);
      const pieces: Uint8Array[] = [];
      for await (const piece of (await openPart(source, format, range)).stream()) pieces.push(piece);
      bodies.push({ class: 'body', bytes: Buffer.concat(pieces) });
    }
    const ticket = inlinedTicket([header, ...bodies, marker], options);
    if (ticket !== undefined) return ticket;
  }
  return ticketInParts(
    total,
    (partBytes) => {
      const parts = partsOf(ranges, { partBytes, ...(index && { index }) });
      return [header, ...parts.map((range): Piece => ({ class: 'body', form: { kind: 'records', range } })), marker];
    },
    options,
  );
}

function wantedRanges({ opened: { head }, index, asked }: Wanted): readonly VirtualRange[] {
  if (asked.headerOnly) return [];
  if (asked.regions && index) return virtualRangesOf(index, head, asked.regions);
  const whole = wholeFile(head);
  return whole.start.block === whole.end.block && whole.start.within === whole.end.within ? [] : [whole];
}

/** One container over the whole ticket. Nothing of the body is opened but what {@link PlainFiles} needs for the header. */
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
async function keptPlaintext({ opened: { head }, index, asked }: Wanted) {
  if (asked.regions && index) return keptRanges(head, index, virtualRangesOf(index, head, asked.regions));
  if (!asked.headerOnly) return undefined;
  if (head.sharesBlock) {
    throw new UnsupportedFormatError('The header ends within a block that also has records: ask for it as plaintext.');
  }
  return [
    { start: 0, end: head.end.block },
    { start: head.dataEnd, end: head.size },
  ];
}
