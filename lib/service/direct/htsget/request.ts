import * as z from 'zod';
import {
  InvalidRangeError,
  InvalidRequestError,
  RequestTooLargeError,
  UnsupportedFormatError,
  type Violation,
} from '../../../errors.ts';
import { type DataFormat, formatOf, type Region } from '../../../regions/index.ts';
import { collected, type HttpRequest, jsonBody, singleQuery } from '../../http/request.ts';
import { recipientKey } from '../file-request.ts';
import { type Datatype, formatsOf, htsgetKeyHeaders, rangeHeader } from './names.ts';

/** The kind of data that a file has, by its name; `undefined`: htsget cannot serve it. */
export function datatypeOf(path: string): Datatype | undefined {
  const format = formatOf(path);
  return format && (formatsOf.reads.includes(format) ? 'reads' : 'variants');
}

/** What a caller asks a ticket for. */
export interface TicketRequest {
  /** Absent: the format of the file. */
  readonly format: DataFormat | undefined;
  readonly headerOnly: boolean;
  /** Absent: the whole file. Also absent with `headerOnly`. */
  readonly regions: readonly Region[] | undefined;
  /** Raw public key of the reader of the Crypt4GH form; `undefined`: plaintext. */
  readonly recipient: Uint8Array | undefined;
  /** Whether URLs get a `Range` header, so that their replies are 206. */
  readonly withRange: boolean;
}

/** Most regions of one POST, and bytes of its body. */
const mostRegions = 1_000;
const bodyBytes = 1_000_000;
/** 32-bit unsigned, as the standard has positions. */
const lastPosition = 2 ** 32 - 1;
/** A reference name is one word (SAMv1 § 1.2.1). */
const longestName = 1_024;

/** Names of encryption schemes, in lower case. */
const schemes: ReadonlySet<string> = new Set(['crypt4gh', 'c4gh']);

/** Parameters of a GET; in a POST they are members of the body. */
const selecting = ['format', 'class', 'referenceName', 'start', 'end', 'encryptionScheme'] as const;
/** These only ever make an answer smaller, and the standard lets a server give more. */
const ignored = ['fields', 'tags', 'notags'] as const;

const text = z.string({ error: 'must be a string' });
const position = z
  .int({ error: 'must be a whole number' })
  .min(0, { error: 'must be 0 or greater' })
  .max(lastPosition, { error: `must be at most ${lastPosition}` });
const region = z.object(
  {
    referenceName: text
      .min(1, { error: 'must not be empty' })
      .max(longestName, { error: `must have at most ${longestName} characters` }),
    start: position.optional(),
    end: position.optional(),
  },
  { error: 'must be a region with a referenceName' },
);
const list = z.union([text, z.array(text)], { error: 'must be a string or a list of strings' }).optional();
const body = z.object(
  {
    format: text.optional(),
    class: text.optional(),
    encryptionScheme: text.optional(),
    fields: list,
    tags: list,
    notags: list,
    regions: z.array(region, { error: 'must be a list of regions' }).optional(),
  },
  { error: 'must be a JSON object' },
);

interface Asked {
  readonly format?: string | undefined;
  readonly class?: string | undefined;
  readonly encryptionScheme?: string | undefined;
  readonly tags?: string | readonly string[] | undefined;
  readonly notags?: string | readonly string[] | undefined;
  readonly regions?: readonly AskedRegion[] | undefined;
}

interface AskedRegion {
  readonly referenceName: string;
  readonly start?: number | undefined;
  readonly end?: number | undefined;
}

/**
 * What the request asks for: the parameters of a GET, the JSON body of a POST (htsget 1.3). `class=header` wins over
 * regions, since clients send both.
 *
 * @throws InvalidRequestError with every broken rule; it never repeats a value. @throws InvalidRangeError for a region that ends
 * before it starts. @throws UnsupportedFormatError, RequestTooLargeError
 */
export function ticketRequest(request: HttpRequest, datatype: Datatype): TicketRequest {
  const violations: Violation[] = [];
  const asked = (request.method === 'POST' ? posted(request) : queried(request, violations)) ?? {};
  const format = collected(violations, () => knownFormat(asked.format, datatype));
  if (asked.class !== undefined && asked.class !== 'header') {
    violations.push({ field: 'class', message: 'must be header, or absent' });
  }
  const recipient = collected(violations, () => requestedKey(request, asked.encryptionScheme));
  const headerOnly = asked.class === 'header';
  const regions = headerOnly ? undefined : asked.regions?.map((one, index) => checked(one, index, violations));
  checkTags(asked, violations);
  if (violations.length > 0) throw new InvalidRequestError(violations);
  const reversed = regions?.find(({ start = 0, end }) => end !== undefined && end < start);
  if (reversed) throw new InvalidRangeError('A region ends before it starts: end must be start or greater.');
  return { format, headerOnly, regions, recipient, withRange: request.headers.has(rangeHeader.toLowerCase()) };
}

function queried(request: HttpRequest, violations: Violation[]): Asked {
  const read = (name: string) => collected(violations, () => singleQuery(request, name));
  const [referenceName, start, end] = ['referenceName', 'start', 'end'].map(read);
  const rest = Object.fromEntries(
    ['format', 'class', 'encryptionScheme', ...ignored].map((name) => [name, read(name)]),
  );
  const isHeader = rest.class === 'header';
  if (referenceName === undefined || isHeader) {
    for (const [field, value] of Object.entries({ start, end })) {
      if (value !== undefined && !isHeader) violations.push({ field, message: 'needs a referenceName' });
    }
    return rest;
  }
  const number = (value: string | undefined) =>
    value === undefined ? undefined : /^\d{1,10}$/.test(value) ? Number(value) : Number.NaN;
  const parsed = region.safeParse({ referenceName, start: number(start), end: number(end) });
  if (parsed.success) return { ...rest, regions: [parsed.data] };
  violations.push(...parsed.error.issues.map(({ path, message }) => ({ field: path.join('.'), message })));
  return rest;
}

function posted(request: HttpRequest): Asked {
  if ((request.body?.length ?? 0) > bodyBytes) {
    throw new RequestTooLargeError(`The body has more than ${bodyBytes} bytes: ask for fewer regions at once.`);
  }
  const inQuery = [...selecting, ...ignored].filter((name) => request.query.has(name));
  if (inQuery.length > 0) {
    throw new InvalidRequestError(inQuery.map((field) => ({ field, message: 'belongs in the body of a POST' })));
  }
  const document = jsonBody(request, bodyBytes);
  const regions = (document as { readonly regions?: unknown } | null)?.regions;
  if (Array.isArray(regions) && regions.length > mostRegions) {
    throw new RequestTooLargeError(`The body has more than ${mostRegions} regions: send several requests.`);
  }
  const parsed = body.safeParse(document);
  if (parsed.success)
    return { ...parsed.data, regions: parsed.data.regions?.length === 0 ? undefined : parsed.data.regions };
  throw new InvalidRequestError(
    parsed.error.issues.map(({ path, message }) => ({ field: path.join('.') || 'body', message })),
  );
}

function knownFormat(format: string | undefined, datatype: Datatype): DataFormat | undefined {
  if (format === undefined) return undefined;
  const known = Object.values(formatsOf).flat();
  const found = known.find((name) => name === format.toUpperCase());
  if (found) return found;
  throw new UnsupportedFormatError(`Of ${datatype}, these formats are served: ${formatsOf[datatype].join(', ')}.`);
}

/** `start` and `end` say nothing about reads that have no place. */
function checked({ referenceName, start, end }: AskedRegion, index: number, violations: Violation[]): Region {
  if (referenceName === '*' && (start !== undefined || end !== undefined)) {
    violations.push({ field: `regions.${index}`, message: 'must have neither start nor end with the referenceName *' });
  }
  return { referenceName, ...(start !== undefined && { start }), ...(end !== undefined && { end }) };
}

function requestedKey(request: HttpRequest, scheme: string | undefined): Uint8Array | undefined {
  if (scheme !== undefined && !schemes.has(scheme.toLowerCase())) {
    throw new InvalidRequestError([{ field: 'encryptionScheme', message: 'must be crypt4gh, or absent' }]);
  }
  const key = recipientKey(request, htsgetKeyHeaders);
  if (key || scheme === undefined) return key;
  const message = `is missing beside encryptionScheme: send ${htsgetKeyHeaders.join(', or ')}`;
  throw new InvalidRequestError([{ field: htsgetKeyHeaders[0] ?? '', message }]);
}

function checkTags({ tags, notags }: Asked, violations: Violation[]): void {
  const names = (value: Asked['tags']) =>
    (typeof value === 'string' ? value.split(',') : (value ?? [])).filter((name) => name !== '');
  const excluded = new Set(names(notags));
  if (names(tags).some((name) => excluded.has(name)))
    violations.push({ field: 'notags', message: 'must not name a tag of tags' });
}
