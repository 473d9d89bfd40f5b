import { counted } from '../../common/text.ts';
import { problemIn } from '../api/json.ts';

/** A reply of the service that is not an answer. Status 0: there was no reply. */
export type RefusedReply = Readonly<{ status: number; text: string; retryAfter: string | null }>;

/** For people. */
export type Refusal = ReturnType<typeof readRefusal>;

/** Labels of the form, by the names of the API. */
export const labels = { id: 'Identifier', type: 'Type', visaToken: 'Visa', userPublicKey: 'Public key' } as const;

/**
 * Explains a reply with a status that refuses, or that is not JSON: what happened, what to do, and which rules an order breaks.
 * `isTemporary`: the same call can succeed later, after `retryAfter` seconds.
 * @param isOrder whether the call was to send an order
 */
export function readRefusal({ status, text, retryAfter }: RefusedReply, isOrder: boolean) {
  const { code, detail, requestId, violations: broken } = problemIn(text);
  const labelOf = (field: string) => (Object.hasOwn(labels, field) ? labels[field as keyof typeof labels] : field);
  const violations = broken.map(({ field, message }) => `${labelOf(field)}: ${message}`);
  const seconds = /^\d{1,5}$/.test(retryAfter ?? '') ? Number(retryAfter) : undefined;
  const named = requestId === undefined ? '' : ` (request ${requestId})`;
  const later = seconds === undefined ? 'in a minute' : `in ${counted(seconds, 'second')}`;
  const again = `Try again ${later}.${isOrder ? ' Nothing was sent.' : ''}`;
  const what =
    violations.length > 0 ? 'The service refused the order:' : `The service refused this: ${detail ?? status}`;
  const wrong = [what, 'Correct it, and check it again.'] as const;
  const byStatus: Readonly<Record<number, readonly [what: string, remedy: string]>> = {
    400: wrong,
    401: [
      'The service refused your user name or password.',
      'Reload the page, and sign in with the user name and password of an administrator.',
    ],
    403: [
      detail ?? 'This user may not do this.',
      code === 'foreign_origin'
        ? 'Open this page at the address of the service itself, then try again.'
        : 'Close the browser, open this page again, and sign in as a user who has the role ADMIN.',
    ],
    404: [detail ?? 'The service has no record of this.', 'Refresh the table.'],
    413: wrong,
    429: ['The service gets too many requests at the moment.', again],
    503: [`The service cannot answer at the moment${named}.`, again],
  };
  const known = byStatus[status] ?? (status > 0 && status < 400 ? stranger : undefined);
  const about = {
    violations,
    retryAfter: seconds,
    isTemporary: known === undefined || status === 429 || status === 503,
  };
  if (known) return { ...about, what: known[0], remedy: known[1] };
  const isSilent = status === 0 || status === 504;
  const help = isSilent ? 'Look at your network, then try again.' : 'Tell the operator the request and the time.';
  return {
    ...about,
    what: isSilent ? 'The service did not answer.' : `The service failed with status ${status}${named}.`,
    remedy: isOrder ? `${unknown} ${help}` : help,
  };
}

const stranger = [
  'Another server than this service has answered.',
  'Look at your network: you may have to sign in to it first. Then try again.',
] as const;
const unknown =
  'The order may have been sent or not: look for it in the table first. To send it twice does no harm: the same files are written again.';
