import { randomBytes } from 'node:crypto';
import { serializeHeader } from '../lib/crypt4gh/header/header.ts';
import { sealingKey, sealPackets } from '../lib/crypt4gh/header/packets.ts';
import { encodePayloads } from '../lib/crypt4gh/header/payloads.ts';
import { generateKeyPair, reencryptHeader } from '../lib/crypt4gh/index.ts';
import { importPrivateKey } from '../lib/crypt4gh/keys/x25519.ts';

const seconds = 2;
const count = 2000;

/** Headers of so many writers, rebuilt for one recipient as a function does. @returns how many in a second of processor time */
export function rebuiltHeaders(writers: number): number {
  const archive = generateKeyPair();
  const recipient = generateKeyPair();
  const writer = () => sealingKey(importPrivateKey(randomBytes(32)), archive.publicKey);
  const keys = Array.from({ length: writers }, writer);
  const headers = Array.from({ length: count }, (_, index) => {
    const payloads = encodePayloads([{ type: 'data-key', key: randomBytes(32) }]);
    return serializeHeader(sealPackets(payloads, keys[index % writers] ?? writer(), () => randomBytes(12)));
  });
  const derivation = { secret: archive.privateKey, context: 'EGAF00000000001' };
  const rebuild = (header: Uint8Array) =>
    reencryptHeader({ header, readerKeys: [archive.privateKey], recipients: [recipient.publicKey], derivation });
  // Runs first, so that the compiler has seen the code.
  headers.forEach(rebuild);
  const started = process.cpuUsage();
  const passed = () => {
    const { user, system } = process.cpuUsage(started);
    return (user + system) / 1e6;
  };
  let done = 0;
  for (; passed() < seconds; done += 100) {
    const start = done % count;
    headers.slice(start, start + 100).forEach(rebuild);
  }
  return done / passed();
}
