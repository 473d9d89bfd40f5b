import type { DataFormat, Region } from '../../regions/index.ts';

/** An error of htsget 1.3, by its name there. */
export class HtsgetError extends Error {
  readonly status: number;
  readonly error: string;
  constructor(status: number, error: string, message: string) {
    super(message);
    this.status = status;
    this.error = error;
  }
}

/** What a ticket is asked for. */
export interface TicketRequest {
  readonly format: string | undefined;
  readonly headerOnly: boolean;
  /** `undefined`: the whole file. */
  readonly regions: readonly Region[] | undefined;
}

/** Formats of each kind of data. */
export const formatsOf: ReadonlyMap<string, readonly DataFormat[]> = new Map([
  ['reads', ['BAM', 'CRAM']],
  ['variants', ['VCF', 'BCF']],
]);

/** Most bytes of a POST, and most regions in it. */
export const mostBytes = 1_000_000;
const mostRegions = 1_000;
/** Positions have 32 bits (htsget 1.3). */
const lastPosition = 2 ** 32 - 1;

/**
 * The request for a ticket, from the parameters of a GET or the JSON of a POST. `class=header` wins over a region, since
 * clients send both. Fields and tags only make answers smaller, so a server may ignore them.
 *
 * @throws HtsgetError
 */
export function ticketRequest(query: URLSearchParams, body?: string): TicketRequest {
  const given = body === undefined ? Object.fromEntries(query) : posted(query, body);
  const { format, class: part, encryptionScheme, referenceName, start, end } = given;
  if (encryptionScheme !== undefined) throw invalid('encryptionScheme: serve gives plaintext alone');
  if (format !== undefined && typeof format !== 'string') throw invalid('format must be a string');
  if (part !== undefined && part !== 'header') throw invalid('class must be header, or absent');
  const headerOnly = part === 'header';
  const common = { format: format?.toUpperCase(), headerOnly };
  if (headerOnly) return { ...common, regions: undefined };
  if (body === undefined) {
    if (referenceName !== undefined)
      return { ...common, regions: [regionOf({ referenceName, start: numberOf(start), end: numberOf(end) })] };
    if (start !== undefined || end !== undefined) throw invalid('start and end need a referenceName');
    return { ...common, regions: undefined };
  }
  const { regions } = given;
  if (regions !== undefined && !Array.isArray(regions)) throw invalid('regions must be a list');
  if (regions && regions.length > mostRegions) throw tooLarge(`more than ${mostRegions} regions`);
  return { ...common, regions: regions && regions.length > 0 ? regions.map(regionOf) : undefined };
}

export function invalid(message: string): HtsgetError {
  return new HtsgetError(400, 'InvalidInput', message);
}

export function tooLarge(what: string): HtsgetError {
  return new HtsgetError(413, 'PayloadTooLarge', `the request has ${what}`);
}

function posted(query: URLSearchParams, body: string): Record<string, unknown> {
  if (query.size > 0) throw invalid('the parameters of a POST belong in its body');
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    throw invalid('the body is not JSON');
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw invalid('the body is no JSON object');
  return parsed as Record<string, unknown>;
}

/** A number in a query; what is none is refused with the region. */
const numberOf = (text: unknown) =>
  text === undefined ? undefined : /^\d{1,10}$/.test(String(text)) ? Number(text) : Number.NaN;

function regionOf(given: unknown): Region {
  const { referenceName, start, end } = (given ?? {}) as Record<string, unknown>;
  if (typeof referenceName !== 'string' || referenceName === '') throw invalid('a region needs a referenceName');
  for (const position of [start, end]) {
    if (position === undefined) continue;
    if (!(Number.isInteger(position) && Number(position) >= 0 && Number(position) <= lastPosition)) {
      throw invalid(`start and end must be whole numbers from 0 to ${lastPosition}`);
    }
    if (referenceName === '*') throw invalid('reads without a place have neither start nor end');
  }
  const region = { referenceName, start: Number(start ?? 0), end: Number(end ?? lastPosition) };
  if (region.start > region.end) throw new HtsgetError(400, 'InvalidRange', 'a region ends before it starts');
  return region;
}
