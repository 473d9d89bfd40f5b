import * as z from 'zod';
import { type ExportState, exportStates } from '../../contract/export-state.ts';
import { limits } from '../../contract/limits.ts';
import { DataOutError, invalidRequest } from '../../errors.ts';
import { type HttpReply, jsonReply } from '../http/reply.ts';
import { type HttpRequest, readAll, singleQuery } from '../http/request.ts';
import { requireAdministrator } from './administrator.ts';
import type { ExportRecords } from './ledger-port.ts';

export interface ExportStatusEndpoint {
  /** The one kind this deployment answers for. */
  readonly archiveKind: string;
  readonly records: ExportRecords;
}

const uuid = z.guid();
/** A day in UTC, or a time with its zone. */
const day = z.iso.date();
const moment = z.iso.datetime({ offset: true });

/**
 * `GET /export/{archive_kind}`, behind the authorizer: the newest requests, 100 per page. A page that is shorter is the last.
 */
export async function listExports(
  request: HttpRequest,
  { archiveKind, records }: ExportStatusEndpoint,
): Promise<HttpReply> {
  requireAdministrator(request);
  const { page, ...filter } = readAll({
    state: () => stateOf(request),
    since: () => sinceOf(request),
    page: () => pageOf(request),
  });
  const exports = await records.newest(archiveKind, filter, page);
  return jsonReply(request.requestId, { exports, page });
}

/**
 * `GET /export/{archive_kind}/{requestId}`, behind the authorizer: one request, and its files, 1,000 per page in the order of
 * their ids. A page that is shorter is the last.
 */
export async function showExport(
  request: HttpRequest,
  { archiveKind, records }: ExportStatusEndpoint,
): Promise<HttpReply> {
  requireAdministrator(request);
  const { requestId, page } = readAll({ requestId: () => requestIdOf(request), page: () => pageOf(request) });
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

function requestIdOf({ pathParameters }: HttpRequest): string {
  const value = pathParameters.get('requestId') ?? '';
  if (uuid.safeParse(value).success) return value;
  throw invalidRequest([{ field: 'requestId', message: 'must be a UUID' }]);
}

function stateOf(request: HttpRequest): ExportState | undefined {
  const value = singleQuery(request, 'state');
  const state = exportStates.find((each) => each === value);
  if (value === undefined || state !== undefined) return state;
  throw invalidRequest([{ field: 'state', message: `must be one of ${exportStates.join(', ')}` }]);
}

function sinceOf(request: HttpRequest): Date | undefined {
  const value = singleQuery(request, 'since');
  if (value === undefined) return undefined;
  if (day.safeParse(value).success || moment.safeParse(value).success) return new Date(value);
  const message = 'must be a day or a time with its zone, as in 2026-11-22 or 2026-11-22T08:00:00Z';
  throw invalidRequest([{ field: 'since', message }]);
}

function pageOf(request: HttpRequest): number {
  const value = singleQuery(request, 'page') ?? '0';
  if (/^\d{1,9}$/.test(value) && Number(value) <= limits.lastExportPage) return Number(value);
  const message = `must be a whole number from 0 to ${limits.lastExportPage}`;
  throw invalidRequest([{ field: 'page', message }]);
}
