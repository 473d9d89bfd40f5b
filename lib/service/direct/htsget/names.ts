import { keyHeaders } from '../../../contract/http.ts';
import type { DataFormat } from '../../../regions/index.ts';

/** The two kinds of data that htsget knows, as its paths have them. */
export type Datatype = 'reads' | 'variants';

/** Formats of each kind; the standard's default comes first. */
export const formatsOf: Readonly<Record<Datatype, readonly DataFormat[]>> = {
  reads: ['BAM', 'CRAM'],
  variants: ['VCF', 'BCF'],
};

/** Peers that send the key in this header accept only a reply 206. */
export const rangeHeader = 'Client-Public-Key';
/** Headers with the recipient's key. */
export const htsgetKeyHeaders = [...keyHeaders, rangeHeader] as const;
