import { limits } from './limits.ts';

/** A reason code in words. */
export interface Explanation {
  /** A clause without a full stop, which operators also read. */
  readonly meaning: string;
  /** Whole sentences for the administrator who asked for the export. */
  readonly remedy: string;
}

/** Why a visa or passport does not give access. Logs, metrics and audit rows have these words, so they stay stable. */
export const visaErrors = {
  malformed_token: 'the token is not a JWS in compact form',
  token_too_large: 'the token is too large: a visa may have 16,384 bytes, a passport 262,144',
  alg_not_allowed: 'the signature algorithm is not the one of the key, or neither RS256 nor ES256',
  crit_unsupported: 'the token asks for an extension that is not understood',
  wrong_typ: 'the token is of another type',
  unsupported_visa_format: 'only visas in document form are accepted',
  untrusted_issuer: 'the issuer is not trusted for this kind of token',
  untrusted_jku: 'the token names another key set than the one trusted for its issuer',
  wrong_audience: 'the token is for another audience',
  unknown_kid: 'the issuer has no key of this id',
  bad_signature: 'the signature does not verify',
  missing_claim: 'a required claim is missing',
  malformed_claim: 'a claim has the wrong form',
  claim_too_long: 'a claim is longer than allowed',
  expired: 'the token has expired',
  lifetime_too_long:
    'the token has expired: this archive accepts tokens of this issuer only for a limited time after they are issued',
  not_yet_valid: 'the token is not valid yet',
  issued_in_future: 'the token was issued in the future',
  asserted_in_future: 'the visa was asserted in the future',
  untrusted_source: 'the source of the visa is not trusted with this issuer',
  conditions_not_met: 'the visa has conditions, which are not evaluated',
  wrong_visa_type: 'the visa is not a ControlledAccessGrants visa',
  value_mismatch: 'the visa is for another dataset',
  no_matching_visa: 'no visa of the passport grants the dataset',
  denied: 'the operator of the service has denied this token or its subject',
} as const;

const visaOfTheDataset = 'Check the id, and ask the recipient for the visa of this dataset.';
const later = 'Export again when the visa is valid, or ask the recipient for another one.';
const trusted = 'Ask the operator whether the service trusts this issuer.';

const visaRemedies: Readonly<Record<string, string>> = {
  expired: 'Ask the recipient for a new visa.',
  not_yet_valid: later,
  issued_in_future: later,
  asserted_in_future: later,
  untrusted_issuer: trusted,
  untrusted_jku: trusted,
  untrusted_source: trusted,
  unknown_kid: trusted,
  lifetime_too_long: 'Ask the recipient for a new visa.',
  value_mismatch: visaOfTheDataset,
  no_matching_visa: visaOfTheDataset,
  denied: 'Do not ask for another visa. Ask the operator why it is denied.',
};
const otherVisa =
  'Ask the recipient to get the visa again and to send that file as it is. If it fails again, ask the operator.';

const checkId = 'Check the id: dataset or file?';
const askOperator = 'Ask the operator.';
/** With a comma between thousands. To ask Node.js for that loads the languages of the world, at each start. */
const mostFiles = `${limits.filesPerExport}`.replaceAll(/\B(?=(?:\d{3})+$)/g, ',');

/**
 * Why an export request was rejected, besides `visa_` and a code of {@link visaErrors}. Logs, metrics and audit rows have these
 * words, so they stay stable.
 */
export const rejectionReasons = {
  malformed_message: {
    meaning: 'the message in the queue is not an export request',
    remedy: 'Export again. If it is rejected again, ask the operator.',
  },
  unusable_public_key: {
    meaning: 'the public key has no known form, or is a weak point of the curve',
    remedy: 'Ask the recipient to make a new key pair, and for its public key.',
  },
  unknown_dataset: { meaning: 'the catalogue has no dataset of that id or alias', remedy: checkId },
  unknown_file: { meaning: 'the catalogue has no file of that id in any dataset', remedy: checkId },
  not_entitled: { meaning: 'no visa of the request grants the dataset', remedy: visaOfTheDataset },
  not_released: {
    meaning: 'the newest event of the dataset is not "released"',
    remedy: 'Ask the operator to release the dataset, then export again.',
  },
  nothing_to_export: { meaning: 'the dataset holds no file', remedy: askOperator },
  too_many_files: {
    meaning: `the dataset has more than ${mostFiles} files`,
    remedy: `Export it by parts: ask the operator for datasets of at most ${mostFiles} of its files each, or export single files.`,
  },
  outbox_quota_exceeded: {
    meaning: "the recipient's part of the outbox would hold more than the operator allows",
    remedy: 'Export again when containers of the recipient have expired, or ask the operator to remove some.',
  },
  failed: {
    meaning: 'the service failed at each attempt to decide on the request',
    remedy: 'Export again later. If it fails again, ask the operator.',
  },
} as const satisfies Readonly<Record<string, Explanation>>;

/** Why a file of a request was given up. The first four are also why its last attempt failed. */
export const failureReasons = {
  temporarily_unavailable: {
    meaning: 'another service did not answer, or refused for the moment, at each attempt',
    remedy: 'Export again later. If it fails again, ask the operator.',
  },
  archive_damaged: { meaning: 'the body or the header of the file contradicts the catalogue', remedy: askOperator },
  archive_location_unknown: {
    meaning: 'the catalogue names a bucket that the settings do not have',
    remedy: askOperator,
  },
  internal_error: {
    meaning: 'an unforeseen error: the log of the function has it under the request id',
    remedy: askOperator,
  },
  no_answer: {
    meaning: 'the last attempt timed out or crashed',
    remedy: askOperator,
  },
  not_sent: { meaning: 'the file could not be sent to be staged', remedy: askOperator },
  expired: {
    meaning: 'nothing changed for 14 days, and the queue keeps no message longer',
    remedy: 'Export again.',
  },
} as const satisfies Readonly<Record<string, Explanation>>;

const exportReasons = { ...rejectionReasons, ...failureReasons };

/** Every reason code of an export: visas' and the others. */
export const reasonCodes: readonly string[] = [
  ...Object.keys(visaErrors).map((code) => `visa_${code}`),
  ...Object.keys(exportReasons),
];

/** The meaning of an export's reason code; `undefined` for an unknown one. */
export function explainReason(reason: string): Explanation | undefined {
  const [, visaError = ''] = /^visa_(.+)$/.exec(reason) ?? [];
  if (Object.hasOwn(visaErrors, visaError)) {
    const meaning = visaErrors[visaError as keyof typeof visaErrors];
    return { meaning, remedy: visaRemedies[visaError] ?? otherVisa };
  }
  return Object.hasOwn(exportReasons, reason) ? exportReasons[reason as keyof typeof exportReasons] : undefined;
}

/** The one type of visa that grants a dataset; compared with its case (Passport 1.2, ControlledAccessGrants). */
export const grantType = 'ControlledAccessGrants';
