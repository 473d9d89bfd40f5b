import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  hkdfSync,
  randomBytes,
} from 'node:crypto';
import { encryptHeader, generateKeyPair, reencryptHeader } from '../../lib/crypt4gh/index.ts';
import { figure, median, type Report, ratio } from './report.ts';

const rounds = 5;
const roundMs = 1000;
const pkcs8Prefix = Buffer.from('302e020100300506032b656e04220420', 'hex');

/**
 * Headers rebuilt for a recipient in a second on one core, against the cryptography alone that the rebuild of a header
 * with one packet cannot do without, called straight on `node:crypto`.
 */
export default async function headers(report: Report): Promise<void> {
  const archive = generateKeyPair();
  const recipients = Array.from({ length: 16 }, () => generateKeyPair().publicKey);
  const source = (dataKeys: number) =>
    encryptHeader({
      dataKeys: Array.from({ length: dataKeys }, () => randomBytes(32)),
      recipients: [archive.publicKey],
    });
  const rebuild = (header: Uint8Array) => (round: number) =>
    reencryptHeader({
      header,
      readerKeys: [archive.privateKey],
      recipients: [recipients[round % recipients.length] ?? archive.publicKey],
      derivation: { secret: archive.privateKey, context: `EGAF${round}` },
    });
  const [one, eight] = [source(1), source(8)];
  const tasks = { primitives: primitives(archive, recipients), one: rebuild(one), eight: rebuild(eight) };
  const perSecond = { primitives: [] as number[], one: [] as number[], eight: [] as number[] };
  // In turn, so that whatever else the machine does meets all of them.
  for (let round = 0; round < rounds; round += 1) {
    for (const name of ['primitives', 'one', 'eight'] as const) perSecond[name].push(rate(tasks[name]));
  }
  const reference = median(perSecond.primitives);
  const row = (name: string, figures: number[]) => [name, figure(median(figures)), ratio(median(figures), reference)];
  report.table(
    ['one core', 'a second', 'of the primitives'],
    [
      row('header rebuilt, 1 session key', perSecond.one),
      row('header rebuilt, 8 session keys', perSecond.eight),
      row('(the primitives for 1 session key)', perSecond.primitives),
    ],
  );
}

/** Two key agreements, one public key, HKDF, two BLAKE2b, one ChaCha20-Poly1305 each way. */
function primitives(archive: { privateKey: Uint8Array; publicKey: Uint8Array }, recipients: readonly Uint8Array[]) {
  const privateKeyOf = (raw: Uint8Array) =>
    createPrivateKey({ key: Buffer.concat([pkcs8Prefix, raw]), format: 'der', type: 'pkcs8' });
  const publicKeyOf = (raw: Uint8Array) =>
    createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x: Buffer.from(raw).toString('base64url') }, format: 'jwk' });
  const packetKey = (shared: Buffer, reader: Uint8Array, writer: Uint8Array) =>
    createHash('blake2b512').update(shared).update(reader).update(writer).digest().subarray(0, 32);
  const options = { authTagLength: 16 };
  const seal = (key: Uint8Array, nonce: Uint8Array, plaintext: Uint8Array) => {
    const cipher = createCipheriv('chacha20-poly1305', key, nonce, options);
    const sealed = cipher.update(plaintext);
    cipher.final();
    return { sealed, tag: cipher.getAuthTag() };
  };
  const reader = privateKeyOf(archive.privateKey);
  const writer = generateKeyPair().publicKey;
  const nonce = randomBytes(12);
  const openKey = packetKey(
    diffieHellman({ privateKey: reader, publicKey: publicKeyOf(writer) }),
    archive.publicKey,
    writer,
  );
  const { sealed, tag } = seal(openKey, nonce, randomBytes(40));
  return (round: number) => {
    const recipient = recipients[round % recipients.length] ?? archive.publicKey;
    const opened = diffieHellman({ privateKey: reader, publicKey: publicKeyOf(writer) });
    const decipher = createDecipheriv(
      'chacha20-poly1305',
      packetKey(opened, archive.publicKey, writer),
      nonce,
      options,
    ).setAuthTag(tag);
    const payload = decipher.update(sealed);
    decipher.final();
    const derived = Buffer.from(hkdfSync('sha256', archive.privateKey, 'label', recipient, 44));
    const sender = privateKeyOf(derived.subarray(0, 32));
    const senderPublic = Buffer.from(createPublicKey(sender).export({ format: 'jwk' }).x ?? '', 'base64url');
    const shared = diffieHellman({ privateKey: sender, publicKey: publicKeyOf(recipient) });
    return seal(packetKey(shared, recipient, senderPublic), derived.subarray(32), payload).sealed;
  };
}

/** How often a second. */
function rate(task: (round: number) => unknown): number {
  const started = performance.now();
  let done = 0;
  for (; performance.now() - started < roundMs; done += 1) task(done);
  return (done * 1000) / (performance.now() - started);
}
