import { headerLength } from '../../lib/crypt4gh/header/header.ts';
import { sealingKey, sealPackets } from '../../lib/crypt4gh/header/packets.ts';
import {
  addRecipients,
  type OpenedHeader,
  openHeader,
  publicKeyOf,
  reencryptHeader,
} from '../../lib/crypt4gh/index.ts';
import { importPrivateKey } from '../../lib/crypt4gh/keys/x25519.ts';
import { fieldValue, mutated } from './mutations.ts';
import { Seeded } from './seeded.ts';

/** The reader of all headers here, and another reader. */
export const readerKey = new Seeded('reader').bytes(32);
export const strangerKey = new Seeded('stranger').bytes(32);
const readers = [publicKeyOf(readerKey), publicKeyOf(readerKey), publicKeyOf(readerKey), publicKeyOf(strangerKey)];

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** What a packet says (Crypt4GH § 3.2.3, § 3.2.4), sometimes not quite. */
function payload(random: Seeded): Buffer {
  const padding = random.oneIn(6) ? random.bytes(random.below(60)) : Buffer.alloc(0);
  if (random.oneIn(3)) {
    const lengths = Array.from({ length: random.below(random.oneIn(20) ? 300 : 6) }, () => random.uint64());
    const fields = Buffer.alloc(8 * lengths.length);
    for (const [index, length] of lengths.entries()) fields.writeBigUInt64LE(length, 8 * index);
    const count = uint32(fieldValue(random, lengths.length, 10));
    return Buffer.concat([uint32(fieldValue(random, 1, 30)), count, fields, padding]);
  }
  const whole = Buffer.concat([
    uint32(fieldValue(random, 0, 30)),
    uint32(fieldValue(random, 0, 30)),
    random.bytes(32),
    padding,
  ]);
  return random.oneIn(30) ? whole.subarray(0, random.below(whole.length)) : whole;
}

const smallOrder = [Buffer.alloc(32), Buffer.concat([Buffer.of(1), Buffer.alloc(31)]), Buffer.alloc(32, 0xff)];

/** A packet without its length field. */
function packet(random: Seeded): Buffer {
  if (random.oneIn(12)) return random.bytes(random.below(120));
  const key = sealingKey(importPrivateKey(random.bytes(32)), random.pick(readers));
  const [sealed] = sealPackets([payload(random)], key, () => random.bytes(12));
  const bytes = sealed ?? Buffer.alloc(0);
  if (random.oneIn(20)) bytes.writeUInt32LE(fieldValue(random, 0, 1), 0);
  if (random.oneIn(20)) random.pick(smallOrder).copy(bytes, 4);
  return bytes;
}

/** Packets are put together again in each case; making them is the slow part, so there is a stock. */
export const packets = Array.from({ length: 4_000 }, (_, index) => packet(new Seeded(`packet ${index}`)));
const honest = packets.filter((bytes) => bytes.length === 104);

/** A header of packets from the stock, whose fields sometimes lie. */
export function header(random: Seeded): Buffer {
  const some = Array.from({ length: random.below(random.oneIn(50) ? 40 : 5) }, () => random.pick(packets));
  if (random.oneIn(2)) some.unshift(random.pick(honest));
  const magic = random.oneIn(60) ? mutated(random, Buffer.from('crypt4gh'), 1) : Buffer.from('crypt4gh');
  return Buffer.concat([
    magic,
    uint32(fieldValue(random, 1, 60)),
    uint32(fieldValue(random, some.length, 25)),
    ...some.flatMap((bytes) => [uint32(fieldValue(random, bytes.length + 4, 40)), bytes]),
    random.oneIn(4) ? random.bytes(random.below(100)) : Buffer.alloc(0),
  ]);
}

const newReader = new Seeded('new reader').bytes(32);
const newPublicKey = publicKeyOf(newReader);

/** One case: reads a header in each way there is, and holds the results against each other. */
export function headerCase(random: Seeded): void {
  const bytes = mutated(random, header(random), random.below(4));
  const length = headerLength(bytes);
  const privateKeys = random.oneIn(4) ? [strangerKey, readerKey] : [readerKey];
  const opened = openHeader(bytes, privateKeys);
  if (opened.length !== length || length > bytes.length) throw new Error('two lengths of one header');
  if (opened.dataKeys.length === 0) throw new Error('opened without a data key');
  if (random.oneIn(4)) reencrypted(random, bytes, privateKeys, opened);
  if (random.oneIn(16)) added(bytes, privateKeys, opened);
}

const says = ({ dataKeys, editList }: OpenedHeader) => [dataKeys.map((key) => key.toString()), editList].join();

function reencrypted(random: Seeded, bytes: Buffer, readerKeys: readonly Buffer[], before: OpenedHeader): void {
  const rebuilt = reencryptHeader({
    header: bytes,
    readerKeys,
    recipients: [newPublicKey],
    foreignPackets: random.oneIn(3) ? 'keep' : 'drop',
    derivation: random.oneIn(2)
      ? { secret: readerKey, context: 'file' }
      : { random: (size: number) => random.bytes(size) },
  });
  if (says(openHeader(rebuilt, [newReader])) !== says(before)) throw new Error('a rebuilt header says something else');
}

function added(bytes: Buffer, readerKeys: readonly Buffer[], before: OpenedHeader): void {
  const recipients = [newPublicKey];
  const header = addRecipients({ header: bytes, readerKeys, recipients });
  for (const keys of [[newReader], readerKeys]) {
    if (says(openHeader(header, keys)) !== says(before))
      throw new Error('a header with more readers says something else');
  }
}
