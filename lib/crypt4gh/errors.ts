/** What is wrong with a header (Crypt4GH § 3.2, § 3.3.3). Ask for the file again; another key does not help. */
export type HeaderErrorCode =
  | 'bad-magic'
  | 'unsupported-version'
  | 'truncated-header'
  | 'invalid-packet-length'
  | 'too-many-packets'
  | 'header-too-large'
  | 'no-data-key'
  | 'unknown-packet-type'
  | 'malformed-packet'
  | 'unsupported-data-encryption-method'
  | 'multiple-edit-lists'
  | 'malformed-edit-list';

/** What is wrong with a body (Crypt4GH § 3.4.2, § 4.1). */
export type BodyErrorCode =
  | 'segment-authentication-failed'
  | 'truncated-segment'
  /** Only if the size is known: the body ends too early, between two segments. */
  | 'truncated-body'
  /** Only if the size is known: the body continues after its end. */
  | 'oversized-body';

/** What is wrong with a key or key file (key format; RFC 7748 § 6.1 for `weak-public-key`). */
export type KeyErrorCode =
  | 'invalid-key-format'
  | 'invalid-key-length'
  | 'unsupported-kdf'
  | 'unsupported-cipher'
  | 'unsupported-key-type'
  | 'weak-public-key';

/** What is wrong with the passphrase of a key file (key format). */
export type PassphraseErrorCode = 'passphrase-required' | 'wrong-passphrase';

/** Every `code` of an error of this library. Codes are stable. */
export type Crypt4ghErrorCode =
  | HeaderErrorCode
  | BodyErrorCode
  | KeyErrorCode
  | PassphraseErrorCode
  | 'no-decryptable-packet';

/**
 * Base class of every error about data. A wrong argument, such as an empty list, is a `RangeError` instead. `message` never
 * holds key material, a passphrase or plaintext.
 */
export abstract class Crypt4ghError extends Error {
  abstract readonly code: Crypt4ghErrorCode;
  override get name(): string {
    return this.constructor.name;
  }
}

/** The header breaks the format, or uses an unknown part of it (Crypt4GH § 2.4, § 3.2). Nothing is guessed. */
export class MalformedHeaderError extends Crypt4ghError {
  readonly code: HeaderErrorCode;
  constructor(code: HeaderErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * No packet opens with the given keys: try another key. The header itself is well formed (Crypt4GH § 3.2.1). If
 * `isOfOtherSender` is true, a key fits, but another sender than the expected one wrote the packet: no other key helps.
 */
export class NoMatchingKeyError extends Crypt4ghError {
  readonly code = 'no-decryptable-packet';
  /** Number of packets in the header; each is for one recipient. */
  readonly packetCount: number;
  /**
   * Most recipients that the header can be for: the number of packets long enough for a data key. The number is exact for a
   * header with one data key and no edit list of four lengths or more.
   */
  readonly recipientCount: number;
  /** Whether a given key opens packets, but none of the expected `sender`. */
  readonly isOfOtherSender: boolean;
  constructor(packetCount: number, recipientCount: number, isOfOtherSender = false) {
    const recipients = recipientCount === 1 ? '1 recipient' : `${recipientCount} recipients`;
    super(
      isOfOtherSender
        ? 'the given key opens the header, but the expected sender did not write it'
        : `the file was not encrypted for the given key: its header is for at most ${recipients}, all with other keys`,
    );
    this.packetCount = packetCount;
    this.recipientCount = recipientCount;
    this.isOfOtherSender = isOfOtherSender;
  }
}

const bodyProblems: Readonly<Record<BodyErrorCode, string>> = {
  'segment-authentication-failed': 'does not authenticate with any data key',
  'truncated-segment': 'is cut off',
  'truncated-body': 'is missing: the body ends too early',
  'oversized-body': 'should not be there: the body is longer than it should be',
};

/**
 * A segment is not as its writer sealed it (Crypt4GH § 3.4.2). Plaintext that was given out before is authentic; nothing of
 * this segment is given out.
 */
export class DamagedBodyError extends Crypt4ghError {
  readonly code: BodyErrorCode;
  /** Index of the segment, from 0. */
  readonly segment: number;
  /** Its bytes [start, end), counted from the start of the body. */
  readonly start: number;
  readonly end: number;
  /** @param isShort whether only the last segment of a body is so short */
  constructor(code: BodyErrorCode, segment: number, start: number, end: number, isShort = false) {
    const isCut = isShort && code === 'segment-authentication-failed';
    const problem = isCut ? 'is cut off, or was changed: it does not authenticate' : bodyProblems[code];
    super(`segment ${segment} (bytes ${start} to ${end} of the body) ${problem}`);
    this.code = code;
    this.segment = segment;
    this.start = start;
    this.end = end;
  }
}

/** The key or key file cannot be used (key format; RFC 7748 § 6.1 for points of small order): give another one. */
export class UnusableKeyError extends Crypt4ghError {
  readonly code: KeyErrorCode;
  constructor(code: KeyErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** The key file is protected (key format): ask for its passphrase, or ask again. */
export class PassphraseError extends Crypt4ghError {
  readonly code: PassphraseErrorCode;
  /** @param hint more of why the passphrase may be wrong */
  constructor(code: PassphraseErrorCode, hint = '') {
    super(
      code === 'passphrase-required' ? 'the key file is protected by a passphrase' : `the passphrase is wrong${hint}`,
    );
    this.code = code;
  }
}
