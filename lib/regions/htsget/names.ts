import { DataOutError, type ErrorCode } from '../../errors.ts';
import { type DataFormat, formatOf } from '../formats.ts';

/** Media type of the tickets and errors of htsget 1.3. */
export const htsgetType = 'application/vnd.ga4gh.htsget.v1.3.0+json; charset=utf-8';

/** The two kinds of data that htsget knows, as its paths have them. */
export type Datatype = 'reads' | 'variants';

/** Formats of each kind; the standard's default comes first. */
export const formatsOf: Readonly<Record<Datatype, readonly DataFormat[]>> = {
  reads: ['BAM', 'CRAM'],
  variants: ['VCF', 'BCF'],
};

/** The kind of data that a file has, by its name; `undefined`: htsget cannot serve it. */
export function datatypeOf(path: string): Datatype | undefined {
  const format = formatOf(path);
  return format && (formatsOf.reads.includes(format) ? 'reads' : 'variants');
}

/**
 * The format of a file, by its name.
 *
 * @param datatype as which it is asked for; default: any
 * @param asked the format that is asked for; default: any
 */
export function servedFormat(path: string, datatype?: Datatype, asked?: DataFormat): DataFormat {
  const format = formatOf(path);
  if (!format) throw new DataOutError('unsupported_format', 'The format of the file is not one of htsget.');
  const isOfKind = datatype === undefined || formatsOf[datatype].includes(format);
  if (isOfKind && (asked ?? format) === format) return format;
  throw new DataOutError('unsupported_format', `The file is ${format}; no other format of it is available.`);
}

/** What htsget 1.3 adds to GA4GH service-info 1.0.0. */
export function htsgetFacts(datatype: Datatype) {
  return {
    type: { group: 'org.ga4gh', artifact: 'htsget', version: '1.3.0' },
    htsget: {
      datatype,
      formats: formatsOf[datatype],
      fieldsParametersEffective: false,
      tagsParametersEffective: false,
    },
  };
}

/** Names of errors in htsget 1.3, by our codes. The standard has none for faults of a server. */
export const htsgetErrorNames: Readonly<Record<ErrorCode | 'internal_error', string>> = {
  invalid_request: 'InvalidInput',
  invalid_range: 'InvalidRange',
  unsupported_format: 'UnsupportedFormat',
  request_too_large: 'PayloadTooLarge',
  reply_too_large: 'PayloadTooLarge',
  unauthenticated: 'InvalidAuthentication',
  forbidden: 'PermissionDenied',
  foreign_origin: 'PermissionDenied',
  request_rejected: 'PermissionDenied',
  not_found: 'NotFound',
  precondition_failed: 'InvalidInput',
  range_not_satisfiable: 'InvalidRange',
  temporarily_unavailable: 'ServiceUnavailable',
  archive_damaged: 'InternalError',
  archive_location_unknown: 'InternalError',
  internal_error: 'InternalError',
};
