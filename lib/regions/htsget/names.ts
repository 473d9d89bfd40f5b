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

export function isDatatype(name: string): name is Datatype {
  return Object.hasOwn(formatsOf, name);
}

/** The kind of data that a file has, by its name; `undefined`: htsget cannot serve it. */
export function datatypeOf(path: string): Datatype | undefined {
  const format = formatOf(path);
  return format && (formatsOf.reads.includes(format) ? 'reads' : 'variants');
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
