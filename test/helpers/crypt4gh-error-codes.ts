import type {
  BodyErrorCode,
  Crypt4ghErrorCode,
  HeaderErrorCode,
  KeyErrorCode,
  PassphraseErrorCode,
} from '../../lib/crypt4gh/index.ts';

type ClassOf<Code> = Code extends HeaderErrorCode
  ? 'MalformedHeaderError'
  : Code extends BodyErrorCode
    ? 'DamagedBodyError'
    : Code extends KeyErrorCode
      ? 'UnusableKeyError'
      : Code extends PassphraseErrorCode
        ? 'PassphraseError'
        : 'NoMatchingKeyError';

/** Every code of the library with the class that has it; the compiler refuses the table when one is missing. */
export const crypt4ghErrorCodes: { readonly [Code in Crypt4ghErrorCode]: ClassOf<Code> } = {
  'bad-magic': 'MalformedHeaderError',
  'unsupported-version': 'MalformedHeaderError',
  'truncated-header': 'MalformedHeaderError',
  'invalid-packet-length': 'MalformedHeaderError',
  'too-many-packets': 'MalformedHeaderError',
  'header-too-large': 'MalformedHeaderError',
  'no-decryptable-packet': 'NoMatchingKeyError',
  'no-data-key': 'MalformedHeaderError',
  'unknown-packet-type': 'MalformedHeaderError',
  'malformed-packet': 'MalformedHeaderError',
  'unsupported-data-encryption-method': 'MalformedHeaderError',
  'multiple-edit-lists': 'MalformedHeaderError',
  'malformed-edit-list': 'MalformedHeaderError',
  'segment-authentication-failed': 'DamagedBodyError',
  'truncated-segment': 'DamagedBodyError',
  'truncated-body': 'DamagedBodyError',
  'oversized-body': 'DamagedBodyError',
  'wrong-passphrase': 'PassphraseError',
  'passphrase-required': 'PassphraseError',
  'invalid-key-format': 'UnusableKeyError',
  'unsupported-kdf': 'UnusableKeyError',
  'unsupported-cipher': 'UnusableKeyError',
  'invalid-key-length': 'UnusableKeyError',
  'weak-public-key': 'UnusableKeyError',
  'unsupported-key-type': 'UnusableKeyError',
};
