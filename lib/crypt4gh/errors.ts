/** What is wrong with a header (Crypt4GH § 3.2, § 3.3.3): ask for the file again, another key will not help. */
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
  /** Only where the size is known: the body ends between two segments, too early. */
  | 'truncated-body'
  /** Only where the size is known: the body goes on after its end. */
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

/** Every `code` this folder raises. They are stable. */
export type Crypt4ghErrorCode =
  | HeaderErrorCode
  | BodyErrorCode
  | KeyErrorCode
  | PassphraseErrorCode
  | 'no-decryptable-packet';

/**
 * Base of every error about data. A wrong argument (length of a key array, empty list) is a `RangeError` instead.
 * `message` never holds key material, a passphrase or plaintext.
 */
export abstract class Crypt4ghError extends Error {
  abstract readonly code: Crypt4ghErrorCode;
  override get name(): string {
    return this.constructor.name;
  }
}

/** The header breaks the format, or uses a part of it that nobody may guess at (Crypt4GH § 2.4, § 3.2). */
export class MalformedHeaderError extends Crypt4ghError {
  readonly code: HeaderErrorCode;
  constructor(code: HeaderErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * No packet opens with the given keys: try another key. The header itself is well formed (Crypt4GH § 3.2.1). With
 * `isOfOtherSender` a packet would open, and the sender that was asked for did not write it: no other key helps.
 */
export class NoMatchingKeyError extends Crypt4ghError {
  readonly code = 'no-decryptable-packet';
  /** Packets in the header; each is for one recipient. */
  readonly packetCount: number;
  /**
   * Recipients that the header can be for, at most. Each needs a data key packet; packets too short to be one are not
   * counted. A header with one data key and no edit list of four lengths or more is for exactly so many.
   */
  readonly recipientCount: number;
  /** Whether a given key opens packets, but only such as another writer than `sender` wrote. */
  readonly isOfOtherSender: boolean;
  constructor(packetCount: number, recipientCount: number, isOfOtherSender = false) {
    const recipients = recipientCount === 1 ? '1 recipient' : `${recipientCount} recipients`;
    super(
      isOfOtherSender
        ? 'the given key opens the header, but the expected sender did not write it'
        : `the file was not encrypted for the given key: its header is for at most ${recipients}, and this key is none of theirs`,
    );
    this.packetCount = packetCount;
    this.recipientCount = recipientCount;
    this.isOfOtherSender = isOfOtherSender;
  }
}

const bodyProblems: Readonly<Record<BodyErrorCode, string>> = {
  'segment-authentication-failed': 'does not authenticate with any data key',
  'truncated-segment': 'is cut short',
  'truncated-body': 'is missing: the body ends too early',
  'oversized-body': 'should not be there: the body is longer than it should be',
};

/**
 * A segment is not what its writer sealed (Crypt4GH § 3.4.2). Plaintext given out before is authentic; nothing of this
 * segment is.
 */
export class DamagedBodyError extends Crypt4ghError {
  readonly code: BodyErrorCode;
  /** Index of the segment, from 0. */
  readonly segment: number;
  /** Its bytes [start, end), counted from the start of the body. */
  readonly start: number;
  readonly end: number;
  constructor(code: BodyErrorCode, segment: number, start: number, end: number) {
    super(`segment ${segment} (bytes ${start} to ${end} of the body) ${bodyProblems[code]}`);
    this.code = code;
    this.segment = segment;
    this.start = start;
    this.end = end;
  }
}

/** The key or key file cannot be used: give another one (key format; RFC 7748 § 6.1 for points of small order). */
export class UnusableKeyError extends Crypt4ghError {
  readonly code: KeyErrorCode;
  constructor(code: KeyErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** The key file is protected: ask (again) for its passphrase (key format). */
export class PassphraseError extends Crypt4ghError {
  readonly code: PassphraseErrorCode;
  constructor(code: PassphraseErrorCode) {
    super(code === 'passphrase-required' ? 'the key file is protected by a passphrase' : 'the passphrase is wrong');
    this.code = code;
  }
}
