import * as z from 'zod/mini';
import { DataOutError, invalidRequest, type Violation } from '../../errors.ts';
import type { DataFormat } from '../formats.ts';
import type { Region } from '../select.ts';
import { type Datatype, formatsOf } from './names.ts';

/** What a ticket is asked for. */
export interface AskedTicket {
  /** Absent: the format of the file. */
  readonly format: DataFormat | undefined;
  readonly headerOnly: boolean;
  /** Absent: the whole file. Also absent with `headerOnly`. */
  readonly regions: readonly Region[] | undefined;
  /** Whether the answer must be a Crypt4GH container. */
  readonly isEncrypted: boolean;
}

/** Most bytes of the body of a POST, and most regions in it. */
export const mostBodyBytes = 1_000_000;
const mostRegions = 1_000;
/** 32-bit unsigned, as the standard has positions. */
const lastPosition = 2 ** 32 - 1;
/** Characters of a reference name, which is one word (SAMv1 § 1.2.1). */
const longestName = 1_024;
/** Names of encryption schemes, in lower case. */
const schemes: ReadonlySet<string> = new Set(['crypt4gh', 'c4gh']);

/** Fields and tags only make an answer smaller, and the standard lets a server give more. */
const parameters = ['format', 'class', 'encryptionScheme', 'fields', 'tags', 'notags'] as const;
const regionParameters = ['referenceName', 'start', 'end'] as const;

const text = z.string({ error: 'must be a string' });
const position = z
  .int({ error: 'must be a whole number' })
  .check(
    z.minimum(0, { error: 'must be 0 or greater' }),
    z.maximum(lastPosition, { error: `must be at most ${lastPosition}` }),
  );
const region = z
  .object(
    {
      referenceName: text.check(
        z.minLength(1, { error: 'must not be empty' }),
        z.maxLength(longestName, { error: `must have at most ${longestName} characters` }),
      ),
      start: z.optional(position),
      end: z.optional(position),
    },
    { error: 'must be a region with a referenceName' },
  )
  .check(
    z.refine(({ referenceName, start, end }) => referenceName !== '*' || (start === undefined && end === undefined), {
      path: ['start'],
      error: 'must be absent, as end must be, with the referenceName *',
    }),
  );
const names = z.optional(z.union([text, z.array(text)], { error: 'must be a string or a list of strings' }));
const asked = z.object(
  {
    format: z.optional(text),
    class: z.optional(z.literal('header', { error: 'must be header, or absent' })),
    encryptionScheme: z.optional(
      text.check(z.refine((name) => schemes.has(name.toLowerCase()), { error: 'must be crypt4gh, or absent' })),
    ),
    fields: names,
    tags: names,
    notags: names,
    regions: z.optional(z.array(region, { error: 'must be a list of regions' })),
  },
  { error: 'must be a JSON object' },
);

/**
 * What the parameters of a GET ask for (htsget 1.3).
 *
 * @param query decoded values by name
 * @throws as {@link postedTicket}
 */
export function queriedTicket(query: ReadonlyMap<string, readonly string[]>, datatype: Datatype): AskedTicket {
  const violations: Violation[] = [...parameters, ...regionParameters]
    .filter((field) => (query.get(field)?.length ?? 0) > 1)
    .map((field) => ({ field, message: 'is given more than once' }));
  const one = (name: string) => query.get(name)?.[0];
  const { referenceName, start, end } = Object.fromEntries(regionParameters.map((name) => [name, one(name)]));
  const isHeader = one('class') === 'header';
  if (referenceName === undefined && !isHeader) {
    for (const [field, value] of Object.entries({ start, end })) {
      if (value !== undefined) violations.push({ field, message: 'needs a referenceName' });
    }
  }
  const number = (value: string | undefined) =>
    value === undefined ? undefined : /^\d{1,10}$/.test(value) ? Number(value) : Number.NaN;
  const regions = referenceName === undefined ? undefined : [{ referenceName, start: number(start), end: number(end) }];
  const rest = Object.fromEntries(parameters.map((name) => [name, one(name)]));
  return checked({ ...rest, regions }, datatype, violations, (path) => path.slice(path[0] === 'regions' ? 2 : 0));
}

/**
 * What the JSON body of a POST asks for (htsget 1.3). `class=header` wins over regions, since clients send both.
 *
 * @param query which must have no parameter of htsget
 * @throws `invalid_request` with every broken rule; it never repeats a value
 */
export function postedTicket(document: unknown, query: ReadonlyMap<string, unknown>, datatype: Datatype): AskedTicket {
  const inQuery = [...parameters, ...regionParameters].filter((name) => query.has(name));
  const violations = inQuery.map((field) => ({ field, message: 'belongs in the body of a POST' }));
  const { regions } = (document ?? {}) as { readonly regions?: unknown };
  if (Array.isArray(regions) && regions.length > mostRegions) {
    throw new DataOutError(
      'request_too_large',
      `The body has more than ${mostRegions} regions: send several requests.`,
    );
  }
  return checked(document, datatype, violations, (path) => path);
}

function checked(
  document: unknown,
  datatype: Datatype,
  violations: Violation[],
  fieldOf: (path: readonly PropertyKey[]) => readonly PropertyKey[],
): AskedTicket {
  const isHeader = (document as { readonly class?: unknown } | null)?.class === 'header';
  // Clients send anything beside it.
  const { data, error } = asked.safeParse(isHeader ? { ...(document as object), regions: undefined } : document);
  for (const { path, message } of error?.issues ?? []) {
    violations.push({ field: fieldOf(path).join('.') || 'body', message });
  }
  const { format, encryptionScheme, tags, notags, regions } = data ?? {};
  const excluded = new Set(listed(notags));
  if (listed(tags).some((tag) => excluded.has(tag))) {
    violations.push({ field: 'notags', message: 'must not name a tag of tags' });
  }
  if (violations.length > 0) throw invalidRequest(violations);
  if (regions?.some(({ start = 0, end }) => end !== undefined && end < start)) {
    throw new DataOutError('invalid_range', 'A region ends before it starts: end must be start or greater.');
  }
  return {
    format: format === undefined ? undefined : knownFormat(format, datatype),
    headerOnly: isHeader,
    regions: regions?.length === 0 ? undefined : (regions as readonly Region[] | undefined),
    isEncrypted: encryptionScheme !== undefined,
  };
}

const listed = (value: string | readonly string[] | undefined) =>
  (typeof value === 'string' ? value.split(',') : (value ?? [])).filter((name) => name !== '');

function knownFormat(format: string, datatype: Datatype): DataFormat {
  const found = Object.values(formatsOf)
    .flat()
    .find((name) => name === format.toUpperCase());
  if (found) return found;
  throw new DataOutError(
    'unsupported_format',
    `Of ${datatype}, these formats are served: ${formatsOf[datatype].join(', ')}.`,
  );
}
