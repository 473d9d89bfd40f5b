import { decodeVisaOrPassport, subjectOf } from '../client/order/decoded-visa.ts';
import { printable } from '../terminal/output.ts';
import type { Settings } from './settings.ts';

/**
 * Says that nothing is staged, and for whom, as the visa itself has it: each visa has its own outbox, so another person's
 * visa shows an empty one.
 */
export async function nothingStaged({ visa }: Pick<Settings, 'visa'>): Promise<string> {
  const decoded = decodeVisaOrPassport((await visa?.()) ?? '');
  const subject = decoded && subjectOf(decoded);
  return subject === undefined ? 'no files are staged' : `no files are staged for ${printable(subject)}`;
}
