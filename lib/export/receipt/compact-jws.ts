import { createHash } from 'node:crypto';

/**
 * A JWS in compact form (RFC 7515 § 7.1), in pieces. The payload may be of any length: base64url works on three bytes at a
 * time, and the signature is made of the SHA-256 of what went before.
 *
 * @param payload text, in pieces
 * @param sign makes the signature of a SHA-256 digest, in the form of the header's `alg`
 */
export async function* compactJws(
  header: Readonly<Record<string, string | readonly string[]>>,
  payload: AsyncIterable<string>,
  sign: (digest: Uint8Array) => Promise<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  const signed = (text: string): Uint8Array => {
    hash.update(text);
    return Buffer.from(text, 'latin1');
  };
  yield signed(`${Buffer.from(JSON.stringify(header)).toString('base64url')}.`);
  let rest = Buffer.alloc(0);
  for await (const text of payload) {
    const bytes = Buffer.concat([rest, Buffer.from(text)]);
    const whole = bytes.length - (bytes.length % 3);
    rest = bytes.subarray(whole);
    yield signed(bytes.toString('base64url', 0, whole));
  }
  yield signed(rest.toString('base64url'));
  const signature = await sign(hash.digest());
  yield Buffer.from(`.${Buffer.from(signature).toString('base64url')}`, 'latin1');
}
