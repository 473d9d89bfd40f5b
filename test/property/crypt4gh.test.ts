import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { serializeHeader } from '../../lib/crypt4gh/header/header.ts';
import { sealingKey, sealPackets } from '../../lib/crypt4gh/header/packets.ts';
import {
  Crypt4ghError,
  decrypt,
  decryptedSize,
  decryptSegments,
  encrypt,
  encryptedBodySize,
  encryptHeader,
  encryptSegments,
  generateKeyPair,
  headerLength,
  openHeader,
  parsePrivateKey,
  parsePublicKey,
  reencryptHeader,
} from '../../lib/crypt4gh/index.ts';
import { importPrivateKey } from '../../lib/crypt4gh/keys/x25519.ts';
import { collect, generatedPlaintext, inChunks, vectorFile } from '../helpers/crypt4gh-vectors.ts';
import { applyPlainly, editLists } from '../helpers/edit-lists.ts';

const reader = generateKeyPair();
const source = generatedPlaintext('property', 300_000);
const slow = process.env.SLOW === '1';
const numRuns = slow ? 1_000 : 25;

const sizes = fc.integer({ min: 0, max: source.length });
/** Sizes where arithmetic goes wrong: none of them is left to chance. */
const borderSizes = [0, 1, 65_535, 65_536, 65_537, 131_071, 131_072, 131_073];
const chunkSizes = fc.oneof(
  fc.constantFrom(65_535, 65_536, 65_537, 65_563, 65_564, 65_565, Number.POSITIVE_INFINITY),
  fc.integer({ min: 500, max: 200_000 }),
);

/** Each of them in one piece, and in pieces that end beside segments. */
const borderCases = borderSizes.flatMap((size): [number, number, number][] => [
  [size, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  [size, 65_535, 65_565],
]);

describe('round trips', () => {
  test('any size in any chunking, and the sizes are what arithmetic says', async () => {
    await fc.assert(
      fc.asyncProperty(sizes, chunkSizes, chunkSizes, async (size, writeChunk, readChunk) => {
        const plaintext = source.subarray(0, size);
        const container = await collect(encrypt(inChunks(plaintext, writeChunk), { recipients: [reader.publicKey] }));
        const bodySize = container.length - headerLength(container)!;
        expect(bodySize).toBe(encryptedBodySize(size));
        expect(decryptedSize(bodySize)).toBe(size);
        const decrypted = await collect(decrypt(inChunks(container, readChunk), { privateKeys: [reader.privateKey] }));
        expect(decrypted.equals(plaintext)).toBe(true);
      }),
      { numRuns: numRuns + borderCases.length, examples: borderCases },
    );
  });
});

describe('edit lists', () => {
  const dataKey = new Uint8Array(32).fill(9);
  test('leave the bytes that a plain array leaves', async () => {
    const body = await collect(encryptSegments([source], { dataKey }));
    await fc.assert(
      fc.asyncProperty(editLists, chunkSizes, async (editList, chunk) => {
        const bytes = await collect(decryptSegments(inChunks(body, chunk), { dataKeys: [dataKey], editList }));
        expect(bytes.equals(applyPlainly(source, editList))).toBe(true);
      }),
      { numRuns: 4 * numRuns },
    );
  });

  test('come through a header, and through its rebuilding, as they were', () => {
    const recipient = generateKeyPair();
    fc.assert(
      fc.property(fc.array(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { maxLength: 50 }), (editList) => {
        const header = encryptHeader({ dataKeys: [dataKey], editList, recipients: [reader.publicKey] });
        expect(openHeader(header, [reader.privateKey]).editList).toEqual(editList);
        const rebuilt = reencryptHeader({
          header,
          readerKeys: [reader.privateKey],
          recipients: [recipient.publicKey],
          derivation: { secret: reader.privateKey, context: 'file' },
        });
        expect(openHeader(rebuilt, [recipient.privateKey])).toMatchObject({ editList, dataKeys: [dataKey] });
      }),
      { numRuns },
    );
  });
});

/** Bytes changed, cut off, put in or taken out. */
const mutations = fc.array(
  fc.record({
    at: fc.nat({ max: 400 }),
    value: fc.nat({ max: 255 }),
    kind: fc.constantFrom('set', 'insert', 'remove', 'cut'),
  }),
  { minLength: 1, maxLength: 4 },
);

function mutate(bytes: Buffer, changes: readonly { at: number; value: number; kind: string }[]): Buffer {
  let result = bytes;
  for (const { at, value, kind } of changes) {
    const position = at % (result.length + 1);
    const [before, after] = [result.subarray(0, position), result.subarray(position)];
    const inserted = Buffer.from([value]);
    if (kind === 'insert') result = Buffer.concat([before, inserted, after]);
    else if (kind === 'cut') result = before;
    else result = Buffer.concat([before, kind === 'set' ? inserted : Buffer.alloc(0), after.subarray(1)]);
  }
  return result;
}

async function onlyTypedErrors(work: () => unknown): Promise<void> {
  try {
    await work();
  } catch (error) {
    expect(error).toBeInstanceOf(Crypt4ghError);
  }
}

describe('mutated input raises errors of this library and nothing else', () => {
  const header = Buffer.from(
    encryptHeader({ dataKeys: [source.subarray(0, 32)], editList: [1n, 2n], recipients: [reader.publicKey] }),
  );

  test('headers', async () => {
    await fc.assert(
      fc.asyncProperty(mutations, async (changes) => {
        const mutated = mutate(header, changes);
        await onlyTypedErrors(() => headerLength(mutated));
        await onlyTypedErrors(() => openHeader(mutated, [reader.privateKey]));
      }),
      { numRuns: 40 * numRuns },
    );
  });

  test('sealed payloads of any content', async () => {
    const writer = importPrivateKey(generateKeyPair().privateKey);
    const field = fc.constantFrom(0, 1, 2, 0xffff_ffff);
    const payload = fc
      .tuple(field, field, fc.uint8Array({ maxLength: 60 }), fc.nat({ max: 70 }))
      .map(([type, second, content, length]) => {
        const fields = Buffer.alloc(8);
        fields.writeUInt32LE(type);
        fields.writeUInt32LE(second, 4);
        return Buffer.concat([fields, content]).subarray(0, length);
      });
    await fc.assert(
      fc.asyncProperty(fc.array(payload, { maxLength: 4 }), async (payloads) => {
        let nonce = 0;
        const packets = sealPackets(payloads, sealingKey(writer, reader.publicKey), () => Buffer.alloc(12, ++nonce));
        await onlyTypedErrors(() => openHeader(serializeHeader(packets), [reader.privateKey]));
      }),
      { numRuns: 20 * numRuns },
    );
  });

  test('key files', async () => {
    const files = ['keys/alice.sec', 'keys/bob.sec', 'keys/ssh_plain', 'keys/alice.pub', 'keys/ssh_plain.pub'];
    const originals = files.map((path) => vectorFile(path));
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...originals), mutations, async (original, changes) => {
        const mutated = mutate(original, changes);
        await onlyTypedErrors(() => parsePublicKey(mutated));
        await onlyTypedErrors(() => parsePublicKey(mutated.toString('base64')));
        await onlyTypedErrors(() => parsePrivateKey(mutated));
      }),
      { numRuns: 10 * numRuns },
    );
  });

  test('key files under an intact PEM frame', async () => {
    const pem = ['keys/alice.sec', 'keys/ssh_plain', 'peers/go/ssl-x25519.sec.pem'].map((path) => {
      const lines = vectorFile(path).toString().trim().split('\n');
      return { begin: lines[0]!, bytes: Buffer.from(lines.slice(1, -1).join(''), 'base64'), end: lines.at(-1)! };
    });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...pem), mutations, async ({ begin, bytes, end }, changes) => {
        const text = `${begin}\n${mutate(bytes, changes).toString('base64')}\n${end}`;
        await onlyTypedErrors(() => parsePrivateKey(text));
      }),
      { numRuns: 10 * numRuns },
    );
  });
});
