/** What is wrong with a header: ask for the file again, another key will not help. */
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

/** What is wrong with a body. */
export type BodyErrorCode = 'segment-authentication-failed' | 'truncated-segment';

/** What is wrong with a key or key file. */
export type KeyErrorCode =
  | 'invalid-key-format'
  | 'invalid-key-length'
  | 'unsupported-kdf'
  | 'unsupported-cipher'
  | 'unsupported-key-type'
  | 'weak-public-key';

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

/** The header breaks the format, or uses a part of it that nobody may guess at. */
export class MalformedHeaderError extends Crypt4ghError {
  readonly code: HeaderErrorCode;
  constructor(code: HeaderErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** No packet opens with the given keys: try another key. The header itself is well formed. */
export class NoMatchingKeyError extends Crypt4ghError {
  readonly code = 'no-decryptable-packet';
  /** Packets in the header; each is for one recipient. */
  readonly packetCount: number;
  constructor(packetCount: number) {
    super(`none of the ${packetCount} header packets opens with the given key`);
    this.packetCount = packetCount;
  }
}

/** A segment is not what its writer sealed. Plaintext given out before is authentic; nothing of this segment is. */
export class DamagedBodyError extends Crypt4ghError {
  readonly code: BodyErrorCode;
  /** Index of the segment, from 0. */
  readonly segment: number;
  /** Its bytes [start, end), counted from the start of the body. */
  readonly start: number;
  readonly end: number;
  constructor(code: BodyErrorCode, segment: number, start: number, end: number) {
    const reason = code === 'truncated-segment' ? 'is cut short' : 'does not authenticate with any data key';
    super(`segment ${segment} (bytes ${start} to ${end} of the body) ${reason}`);
    this.code = code;
    this.segment = segment;
    this.start = start;
    this.end = end;
  }
}

/** The key or key file cannot be used: give another one. */
export class UnusableKeyError extends Crypt4ghError {
  readonly code: KeyErrorCode;
  constructor(code: KeyErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** The key file is protected: ask (again) for its passphrase. */
export class PassphraseError extends Crypt4ghError {
  readonly code: PassphraseErrorCode;
  constructor(code: PassphraseErrorCode) {
    super(code === 'passphrase-required' ? 'the key file is protected by a passphrase' : 'the passphrase is wrong');
    this.code = code;
  }
}
