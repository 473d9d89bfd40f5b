import * as z from 'zod';
import { exportStates } from '../../contract/export-state.ts';
import { limits } from '../../contract/limits.ts';
import { DataOutError, invalidRequest } from '../../errors.ts';
import { requireAdministrator } from '../http/administrator.ts';
import { type HttpReply, jsonReply } from '../http/reply.ts';
import { type HttpRequest, readAll, singleQuery } from '../http/request.ts';
import type { ExportRecords } from './export-records.ts';

export interface ExportStatusEndpoint {
  /** The one kind this deployment answers for. */
  readonly archiveKind: string;
  readonly records: ExportRecords;
}

/** A day in UTC, or a time with its zone. */
const time = z.union([z.iso.date(), z.iso.datetime({ offset: true })]).transform((text) => new Date(text));
const explainTime = 'must be a day or a time with its zone, as in 2026-11-22 or 2026-11-22T08:00:00Z';
const pageNumber = z
  .string()
  .regex(/^\d{1,9}$/)
  .transform(Number)
  .refine((page) => page <= limits.lastExportPage);

/** `GET /export/{archive_kind}`, behind the authorizer: the newest requests, 100 per page. A page that is shorter is the last. */
export async function listExports(
  request: HttpRequest,
  { archiveKind, records }: ExportStatusEndpoint,
): Promise<HttpReply> {
  requireAdministrator(request);
  const { page, ...filter } = readAll({
    state: () =>
      queryOf(request, 'state', z.enum(exportStates).optional(), `must be one of ${exportStates.join(', ')}`),
    since: () => queryOf(request, 'since', time.optional(), explainTime),
    page: () => pageOf(request),
  });
  const exports = await records.newest(archiveKind, filter, page);
  return jsonReply(request.requestId, { exports, page });
}

/** `GET /export/{archive_kind}/{requestId}`, behind the authorizer: one request, and its files by their ids, 1,000 per page. */
export async function showExport(
  request: HttpRequest,
  { archiveKind, records }: ExportStatusEndpoint,
): Promise<HttpReply> {
  requireAdministrator(request);
  const { requestId, page } = readAll({
    requestId: () => checked(z.guid(), 'requestId', request.pathParameters.get('requestId'), 'must be a UUID'),
    page: () => pageOf(request),
  });
  const found = await records.find(archiveKind, requestId);
  if (!found) {
    throw new DataOutError(
      'not_found',
      'There is no such request, or it was not consumed yet. Ask again in some seconds.',
    );
  }
  // Only then: of a request of another kind nothing is read.
  const files = await records.files(requestId, page);
  return jsonReply(request.requestId, { ...found, files, page });
}

const pageOf = (request: HttpRequest) =>
  queryOf(request, 'page', pageNumber.default(0), `must be a whole number from 0 to ${limits.lastExportPage}`);

const queryOf = <T>(request: HttpRequest, name: string, shape: z.ZodType<T>, message: string) =>
  checked(shape, name, singleQuery(request, name), message);

/** @throws `invalid_request` with the message for a value of another shape */
function checked<T>(shape: z.ZodType<T>, field: string, value: string | undefined, message: string): T {
  const parsed = shape.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalidRequest([{ field, message }]);
}
