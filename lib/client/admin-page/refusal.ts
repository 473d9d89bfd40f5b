import { problemIn } from '../api/json.ts';

/** A reply of the service that is not an answer. */
export interface RefusedReply {
  /** 0: there was no reply. */
  readonly status: number;
  readonly text: string;
  readonly retryAfter: string | null;
}

/** For people: what happened, and what to do. */
export interface Refusal {
  readonly what: string;
  readonly remedy: string;
  /** Broken rules of an order, in the words of the form. */
  readonly violations: readonly string[];
  /** Whether the same call may succeed later. */
  readonly isTemporary: boolean;
  /** Seconds. */
  readonly retryAfter: number | undefined;
}

/** Labels of the form, by the names of the API. */
const labels: Readonly<Record<string, string>> = {
  id: 'Identifier',
  type: 'Type',
  visaToken: 'Visa',
  userPublicKey: 'Public key',
};

/** Explains a reply with a status that refuses, or that is not JSON. @param isOrder whether the call was to send an order */
export function readRefusal({ status, text, retryAfter }: RefusedReply, isOrder: boolean): Refusal {
  const { code, detail, requestId, violations: broken } = problemIn(text);
  const violations = broken.map(
    ({ field, message }) => `${Object.hasOwn(labels, field) ? labels[field] : field}: ${message}`,
  );
  const seconds = /^\d{1,5}$/.test(retryAfter ?? '') ? Number(retryAfter) : undefined;
  const later = seconds === undefined ? 'in a minute' : `in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}`;
  const named = requestId === undefined ? '' : ` (request ${requestId})`;
  const about = { violations, isTemporary: false, retryAfter: seconds };
  if (status === 401) {
    const remedy = 'Reload the page, and sign in with the user name and password of an administrator.';
    return { ...about, what: 'The service refused your user name or password.', remedy };
  }
  if (status === 403) {
    const remedy =
      code === 'foreign_origin'
        ? 'Open this page at the address of the service itself, then try again.'
        : 'Close the browser, open this page again, and sign in as a user who has the role ADMIN.';
    return { ...about, what: detail ?? 'This user may not do this.', remedy };
  }
  if (status === 404) {
    return { ...about, what: detail ?? 'The service has no record of this.', remedy: 'Refresh the table.' };
  }
  if (status === 429 || status === 503) {
    const what =
      status === 429
        ? 'The service gets too many requests at the moment.'
        : `The service cannot answer at the moment${named}.`;
    const remedy = `Try again ${later}.${isOrder ? ' Nothing was sent.' : ''}`;
    return { ...about, isTemporary: true, what, remedy };
  }
  if (status === 400 || status === 413) {
    const what =
      violations.length > 0 ? 'The service refused the order:' : `The service refused this: ${detail ?? status}`;
    return { ...about, what, remedy: 'Correct it, and check it again.' };
  }
  if (status > 0 && status < 400) {
    const remedy = 'Look at your network: you may have to sign in to it first. Then try again.';
    return { ...about, what: 'Another server than this service has answered.', remedy };
  }
  const isSilent = status === 0 || status === 504;
  const what = isSilent ? 'The service did not answer.' : `The service failed with status ${status}${named}.`;
  const help = isSilent ? 'Look at your network, then try again.' : 'Tell the operator the request and the time.';
  const unknown =
    'The order may have been sent or not: look for it in the table first. To send it twice does no harm: the same files are written again.';
  return { ...about, isTemporary: true, what, remedy: isOrder ? `${unknown} ${help}` : help };
}
