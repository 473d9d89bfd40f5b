import { receiptSuffix } from '../contract/delivery.ts';
import { idPart } from './container-name.ts';

/** Outbox name of a delivery receipt: `<id>-<request id>.delivery.jws`. @param id the dataset or file that was asked for */
export function receiptName(id: string, requestId: string): string {
  return `${idPart(id)}-${requestId}${receiptSuffix}`;
}
