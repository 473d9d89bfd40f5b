declare module 'bcrypt-pbkdf' {
  /**
   * OpenSSH's bcrypt_pbkdf, not the password hash. Fills `key`; returns 0, or another number when an argument is not
   * usable (no rounds, no passphrase, no salt, a key over 1,024 bytes).
   */
  export function pbkdf(
    passphrase: Uint8Array,
    passphraseLength: number,
    salt: Uint8Array,
    saltLength: number,
    key: Uint8Array,
    keyLength: number,
    rounds: number,
  ): number;
}
