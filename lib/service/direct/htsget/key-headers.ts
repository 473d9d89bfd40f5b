import { keyHeaders } from '../../../contract/http.ts';

/** Peers that send the key in this header accept only a reply 206. */
export const rangeHeader = 'Client-Public-Key';
/** Headers with the recipient's key. */
export const htsgetKeyHeaders = [...keyHeaders, rangeHeader] as const;
