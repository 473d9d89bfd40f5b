import { describe, expect, test } from 'vitest';
import { Crypt4ghError, decrypt, decryptSegments, openHeader, splitContainer } from '../../lib/crypt4gh/index.ts';
import {
  type ContainerVector,
  collect,
  containerOf,
  inChunks,
  manifest,
  outcomeOf,
  privateKeyOf,
  sha256,
} from '../helpers/crypt4gh-vectors.ts';

/** Whole, cut at odd places and around segments, and byte by byte where that is soon done. */
function chunkSizesOf(vector: ContainerVector): number[] {
  const sizes = [Number.POSITIVE_INFINITY, 997, 65_563, 65_564, 65_565];
  return containerOf(vector).length < 4_000 ? [...sizes, 1] : sizes;
}

function hex(value: string | undefined): Uint8Array | undefined {
  return value === undefined ? undefined : Buffer.from(value, 'hex');
}

async function decryptAs(vector: ContainerVector, reader: string, chunkSize: number, sender?: Uint8Array) {
  const privateKeys = [await privateKeyOf(reader)];
  const options = sender === undefined ? { privateKeys } : { privateKeys, sender };
  return outcomeOf(decrypt(inChunks(containerOf(vector), chunkSize), options));
}

function expectPlaintext(vector: ContainerVector, outcome: { bytes: Buffer; error: unknown }) {
  expect(outcome.error).toBeUndefined();
  expect(outcome.bytes.length).toBe(vector.expected.length);
  expect(sha256(outcome.bytes)).toBe(vector.expected.sha256);
}

function expectNoPacket(outcome: { bytes: Buffer; error: unknown }) {
  expect(outcome.error).toMatchObject({ code: 'no-decryptable-packet' });
  expect(outcome.bytes.length).toBe(0);
}

/** What a container would decrypt to whose header is whole and whose body was damaged. */
async function wholeOf({ files }: ContainerVector): Promise<Buffer> {
  const headerOf = ({ files: of }: Pick<ContainerVector, 'files'>) => ('header' in of ? of.header : undefined);
  const header = headerOf({ files });
  const whole = decryptable.find((vector) => header !== undefined && headerOf(vector) === header)!;
  const outcome = await decryptAs(whole, whole.readers[0]!, Number.POSITIVE_INFINITY);
  expectPlaintext(whole, outcome);
  return outcome.bytes;
}

test('the manifest holds the vectors this suite was written for', () => {
  expect(manifest.vectors.length).toBe(135);
});

// Where the standard leaves a choice, the manifest prefers the plaintext, and so does this library.
const decryptable = manifest.vectors.filter(({ expected }) => expected.outcome !== 'error');
const refused = manifest.vectors.filter(({ expected }) => expected.outcome === 'error');

describe.each(decryptable.map((vector) => [vector.id, vector] as const))('%s decrypts', (_, vector) => {
  const container = containerOf(vector);
  test('in chunks of any size, for every reader', async () => {
    for (const size of chunkSizesOf(vector))
      for (const reader of vector.readers) expectPlaintext(vector, await decryptAs(vector, reader, size));
  });

  const { not_readers: outsiders, writer_public_key_hex: writer } = vector;
  if (outsiders !== undefined) {
    test.each(outsiders)('not for %s', async (outsider) => {
      expectNoPacket(await decryptAs(vector, outsider, Number.POSITIVE_INFINITY));
    });
  }

  if (writer !== undefined) {
    test('from its sender and from no other', async () => {
      const reader = vector.readers[0]!;
      const sender = Buffer.from(writer, 'hex');
      expectPlaintext(vector, await decryptAs(vector, reader, 997, sender));
      sender[0]! ^= 1;
      expectNoPacket(await decryptAs(vector, reader, 997, sender));
    });
  }

  if (vector.expected.edited === true) {
    test('and its edit list is read exactly', async () => {
      const opened = openHeader(container, [await privateKeyOf(vector.readers[0]!)]);
      expect(opened.editList?.map(String)).toEqual(vector.expected.edit_list);
    });
  }
});

describe.each(refused.map((vector) => [vector.id, vector] as const))('%s is refused', (_, vector) => {
  const { category, also_accept: others = [], authentic_prefix_length: authentic = 0 } = vector.expected;
  const reads = chunkSizesOf(vector).flatMap((size) => vector.readers.map((reader) => ({ size, reader })));
  test('in chunks of any size, nothing unauthentic given out', async () => {
    for (const { size, reader } of reads) {
      const outcome = await decryptAs(vector, reader, size, hex(vector.required_sender_public_key_hex));
      expect(outcome.error).toBeInstanceOf(Crypt4ghError);
      expect([category, ...others]).toContain((outcome.error as Crypt4ghError).code);
      expect(outcome.bytes.length).toBeLessThanOrEqual(authentic);
      if (outcome.bytes.length > 0)
        expect(outcome.bytes).toEqual((await wholeOf(vector)).subarray(0, outcome.bytes.length));
    }
  });

  if (vector.still_readable_by !== undefined) {
    test.each(vector.still_readable_by)('but not to %s, whose packet is whole', async (reader) => {
      // It is pos-10 with one bit changed in the packet of another reader.
      const original = decryptable.find(({ id }) => id.startsWith('pos-10'))!;
      expectPlaintext(original, await decryptAs(vector, reader, 997));
    });
  }
});

test.each(manifest.range_checks)(
  'a range of plaintext, as an edit list over a body: $vector from $start, $length bytes',
  async (check) => {
    const vector = manifest.vectors.find(({ id }) => id === check.vector)!;
    const { header, body } = await splitContainer([containerOf(vector)]);
    const { dataKeys } = openHeader(header, [await privateKeyOf(vector.readers[0]!)]);
    const editList = [BigInt(check.start), BigInt(check.length)];
    const bytes = await collect(decryptSegments(body, { dataKeys, editList }));
    expect(bytes.length).toBe(check.output_length);
    expect(sha256(bytes)).toBe(check.sha256);
  },
);
