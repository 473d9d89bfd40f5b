import { percentDecoded } from '../../../common/percent.ts';
import { limits } from '../../../contract/limits.ts';
import { DataOutError } from '../../../errors.ts';
import { openPart, type PartForm, parsePart, servedFormat, type TicketPart } from '../../../regions/index.ts';
import { nameDamagedFile } from '../../archive/archived-file.ts';
import type { Archive, ArchivedFile, Catalogue } from '../../archive/ports.ts';
import { bearerToken, verifiedToken } from '../../http/authorization.ts';
import type { HttpReply, ReplyBody } from '../../http/reply.ts';
import type { HttpRequest } from '../../http/request.ts';
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
 * @throws `not_found` for what no ticket names now
 */
export async function servePart(request: HttpRequest, endpoint: PartEndpoint): Promise<HttpReply<ReplyBody>> {
  const file = await allowedFile(request, endpoint);
  const { files, served } = endpoint;
  const { fileId, datasetId } = file;
  const part = parsePart(percentDecoded(request.pathParameters.get('part') ?? ''));
  if (!part || sizeOf(part.form) > limits.streamedReplyBytes) throw new DataOutError('not_found', noTicket);
  return nameDamagedFile(fileId, async () => {
    const opened = await files.open(file);
    if (opened.version !== part.version)
      throw new DataOutError('not_found', 'the file was replaced: ask for a new ticket');
    const representation = await representationOf(opened, part, endpoint.archive);
    const { requestId } = request;
    return representationReply(request, representation, (outcome) =>
      served({ requestId, fileId, datasetId, kind: part.form.kind, ...outcome }),
    );
  });
}

const noTicket = 'no ticket has such a URL';

/** Roughly. */
function sizeOf(form: PartForm): number {
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

async function representationOf(opened: OpenedFile, part: TicketPart, archive: Archive): Promise<Representation> {
  const { file, body, plain } = opened;
  const { form } = part;
  const common = {
    etag: `"${sha256(JSON.stringify(part))}"`,
    mediaType: 'application/octet-stream',
    fileName: displayFileName(file),
  };
  if (form.kind === 'records') {
    const { size, stream } = await openPart(plain, servedFormat(file.submissionFilePath), form.range);
    return { ...common, size, stream };
  }
  const { start, end } = form;
  if (end > body.bodySize) throw new DataOutError('not_found', noTicket);
  const stream = (from: number, to: number) => bodyBytes(archive, body, [{ start: start + from, end: start + to }]);
  return { ...common, size: end - start, stream };
}
