import { bytesSource, decrypt, encryptHeader, openContainer, publicKeyOf } from '../../lib/crypt4gh/index.ts';
import { seal } from '../../lib/crypt4gh/sealed.ts';
import { inChunks } from '../helpers/crypt4gh-vectors.ts';
import { applyPlainly } from '../helpers/edit-lists.ts';
import { readerKey } from './headers.ts';
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
const short = [1, 2, 27, 28, 29, 1_000, 65_534, 65_535].map((size) => segment(size, 0));
const recipients = [publicKeyOf(readerKey)];

function editList(random: Seeded): bigint[] | undefined {
  if (random.oneIn(3)) return undefined;
  return Array.from({ length: random.below(random.oneIn(10) ? 60 : 7) }, () => random.uint64());
}

/**
 * One case: decrypts a container that is whole, or damaged at one end, in the middle, or by segments taken out, and
 * compares all that is given out with a plain model.
 */
export async function containerCase(random: Seeded): Promise<void> {
  const segments = Array.from({ length: random.below(4) }, () => random.pick(full));
  if (!random.oneIn(3)) segments.push(random.pick(short));
  const list = editList(random);
  const header = encryptHeader({
    dataKeys: random.oneIn(4) ? [random.bytes(32), dataKey] : [dataKey],
    editList: list,
    recipients,
    random: (size) => random.bytes(size),
  });
  const body = Buffer.concat(segments.map(({ sealed }) => sealed));
  const model = applyPlainly(Buffer.concat(segments.map(({ plain }) => plain)), list ?? []);

  const damage = random.below(5);
  const damagedBody = damage === 1 ? mutated(random, body, 3) : damage === 2 ? misplaced(random, body) : body;
  const damagedHeader = damage === 3 ? mutated(random, Buffer.from(header), 2) : header;
  const container = Buffer.concat([damagedHeader, damagedBody]);
  // Bytes of a header whose edit list was destroyed, or of segments put elsewhere, are authentic but others.
  const expected = damage < 2 ? model : undefined;
  if (random.oneIn(3)) return readAtRandom(random, container, expected);
  const chunk = random.pick([Number.POSITIVE_INFINITY, 65_536, 65_564, 1 + random.below(100_000), 4_000]);
  let position = 0;
  for await (const bytes of decrypt(inChunks(container, chunk), { privateKeys: [readerKey] })) {
    compare(bytes, expected, position);
    position += bytes.length;
  }
  if (damagedBody.equals(body) && damagedHeader === header && position !== model.length) {
    throw new Error('a whole container did not give its whole plaintext');
  }
  if (position > container.length) throw new Error('more came out than went in');
}

function compare(bytes: Uint8Array, model: Buffer | undefined, position: number): void {
  if (model !== undefined && !model.subarray(position, position + bytes.length).equals(bytes)) {
    throw new Error('bytes were given out that are not of the plaintext');
  }
}

async function readAtRandom(random: Seeded, container: Buffer, model: Buffer | undefined): Promise<void> {
  const reader = await openContainer(bytesSource(container), { privateKeys: [readerKey] });
  for (let count = 0; count < 3; count += 1) {
    const [offset, length] = [random.below(300_000), random.below(random.oneIn(2) ? 100 : 200_000)];
    compare(await reader.read(offset, length), model, offset);
  }
}

/** The body with bytes of it moved, at a segment's border or not. */
function misplaced(random: Seeded, body: Buffer): Buffer {
  const cut = () => (random.oneIn(2) ? 65_564 * random.below(4) : random.below(body.length + 1));
  const [from, to] = [cut(), cut()];
  return Buffer.concat([body.subarray(from), body.subarray(0, to)]);
}
