import { encryptHeader, publicKeyOf } from '../../lib/crypt4gh/index.ts';
import { seal } from '../../lib/crypt4gh/sealed.ts';
import { applyPlainly } from '../helpers/edit-lists.ts';
import { decryptWhole, type FuzzedContainer, readAtRandom } from './container-uses.ts';
import { header, readerKey } from './headers.ts';
import { mutated } from './mutations.ts';
import { Seeded } from './seeded.ts';

interface Segment {
  readonly plain: Buffer;
  readonly sealed: Buffer;
}

const dataKey = new Seeded('data key').bytes(32);

function segment(size: number, index: number): Segment {
  const random = new Seeded(`segment ${size} ${index}`);
  const plain = random.bytes(size);
  return { plain, sealed: seal(plain, dataKey, random.bytes(12)) };
}

/** Sealed once; a case puts them together. */
const full = Array.from({ length: 6 }, (_, index) => segment(65_536, index));
const short = [0, 1, 2, 27, 28, 29, 1_000, 65_534, 65_535].map((size) => segment(size, 0));
const recipients = [publicKeyOf(readerKey)];

function editList(random: Seeded): bigint[] | undefined {
  if (random.oneIn(3)) return undefined;
  // Also small lengths, so that several parts of a container are kept.
  const length = () => (random.oneIn(2) ? BigInt(random.below(40_000)) : random.uint64());
  return Array.from({ length: random.below(random.oneIn(10) ? 60 : 7) }, length);
}

function container(random: Seeded): FuzzedContainer {
  const segments = Array.from({ length: random.below(4) }, () => random.pick(full));
  if (!random.oneIn(3)) segments.push(random.pick(short));
  const list = editList(random);
  const sealedHeader = Buffer.from(
    encryptHeader({
      dataKeys: random.oneIn(4) ? [random.bytes(32), dataKey] : [dataKey],
      editList: list,
      recipients,
      random: (size) => random.bytes(size),
    }),
  );
  const plaintext = Buffer.concat(segments.map(({ plain }) => plain));
  const body = Buffer.concat(segments.map(({ sealed }) => sealed));
  const whole = { header: sealedHeader, body, plainSize: plaintext.length };
  const visible = applyPlainly(plaintext, list ?? []);
  switch (random.below(5)) {
    case 0:
      return { ...whole, body: mutated(random, body, 3), visible, isWhole: false };
    // Bytes of segments put elsewhere, or under a header whose edit list was destroyed, are authentic but others.
    case 1:
      return { ...whole, body: misplaced(random, body), visible: undefined, isWhole: false };
    case 2: {
      const hostile = random.oneIn(3) ? header(random) : mutated(random, sealedHeader, 2);
      return { ...whole, header: hostile, visible: undefined, isWhole: false };
    }
    default:
      return { ...whole, visible, isWhole: true };
  }
}

/** The body with bytes of it moved, at a segment's border or not. */
function misplaced(random: Seeded, body: Buffer): Buffer {
  const cut = () => (random.oneIn(2) ? 65_564 * random.below(4) : random.below(body.length + 1));
  const [from, to] = [cut(), cut()];
  return Buffer.concat([body.subarray(from), body.subarray(0, to)]);
}

/**
 * One case: a container that is whole, or damaged at one end, in the middle, by segments taken out or by a header that
 * lies, is decrypted or read at random, and all that is given out is compared with a plain model.
 */
export async function containerCase(random: Seeded): Promise<void> {
  const use = random.pick([decryptWhole, readAtRandom]);
  await use(random, container(random));
}
