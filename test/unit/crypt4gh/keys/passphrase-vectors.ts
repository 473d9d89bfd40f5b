/** Key files of other programs under one passphrase outside ASCII; the manifest's vectors have one for scrypt alone. */
export const passphrase = 'Tromsø pässwörd π';

/** One key file. */
export interface PassphraseVector {
  readonly name: string;
  readonly text: string;
  /** The raw X25519 key in it, as the Python reference reads it. */
  readonly privateKeyHex: string;
}

function pem(label: string, base64: string): string {
  return `-----BEGIN ${label}-----\n${base64}\n-----END ${label}-----\n`;
}

/**
 * Of the package crypt4gh 1.8.6, the Python reference: `encode_string` and `derive_key` put together as in its
 * `encode_private_key`, since that writes scrypt only; key 00 01 … 1f, salt and nonce of `os.urandom`, 4 rounds of bcrypt
 * (with the comment `Åse`), 1,000 of pbkdf2. The OpenSSH key: `ssh-keygen -t ed25519 -a 4 -C kari@example.org`, OpenSSH
 * 9.2p1. All four are read by `crypt4gh.keys.get_private_key`.
 */
export const passphraseVectors: readonly PassphraseVector[] = [
  {
    name: 'scrypt',
    text: pem(
      'CRYPT4GH PRIVATE KEY',
      'YzRnaC12MQAGc2NyeXB0ABQAAAAAuyvvCfBxXEI8TzVbJthrlAARY2hhY2hhMjBfcG9seTEzMDUAPFbM87FX17UR/MPFyS9/yqjFTKLUC8sKnYCko5v41NPYnrkj0lXB3qTdQmXrP06WF/UOaEqB76SoPt3DBQ==',
    ),
    privateKeyHex: '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f',
  },
  {
    name: 'bcrypt',
    text: pem(
      'CRYPT4GH PRIVATE KEY',
      'YzRnaC12MQAGYmNyeXB0ABQAAAAE0Pzvr+ZvEilNkdEu0gd9ngARY2hhY2hhMjBfcG9seTEzMDUAPK46HXKIj/BYB8Sgu0vqVxFbUIIdQwkfYE40fAy3KxwfRFn/vJaAjCPgleotp48Rn/dEFX7rvWfCJSw7UAAEw4VzZQ==',
    ),
    privateKeyHex: '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f',
  },
  {
    name: 'pbkdf2_hmac_sha256',
    text: pem(
      'CRYPT4GH PRIVATE KEY',
      'YzRnaC12MQAScGJrZGYyX2htYWNfc2hhMjU2ABQAAAPotgbDwMuRHTiADm18B2Vq0gARY2hhY2hhMjBfcG9seTEzMDUAPC8HY0z3qQ0AZ9Q8mfMJjmSFnBWU/R3dUG0/zbYnqypzrKVSyfQTnBuliW2sRJW0SwIexxwp3j315+uExg==',
    ),
    privateKeyHex: '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f',
  },
  {
    name: 'OpenSSH',
    text: pem(
      'OPENSSH PRIVATE KEY',
      'b3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHIAAAAGYmNyeXB0AAAAGAAAABAYbuT3NAPcG1GvH+xEx3GyAAAABAAAAAEAAAAzAAAAC3NzaC1lZDI1NTE5AAAAIPq+UBtUDzDtF/tYnIacqwd/DY8dZUhKjW6a/z+cHzeGAAAAoIOP4LlS1cqHili/3k/nRmIsU8r7v6sSiHaxGxFm9CI2RjCNqUVT0RPRVLvbFvw9bB0AXc3RevHVGbginEuwmG3BnCD5tyI3KIpZqWb/q6hNoWyof5eJs7Wvk2G909yLHHsiYBKHsma10jw7pYL6hGskSd+lE2hQ+YhO4RzWPoNRU0NjcdI4glWmEz+NGEpd1vxWx+P2L2vw/O30rmkOARY=',
    ),
    privateKeyHex: '50bd29d534c49a5f8227cf56bfe766668c1544ff8e9c1b04eb5c02d475f52969',
  },
];
