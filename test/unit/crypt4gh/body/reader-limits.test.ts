import { describe, expect, test } from 'vitest';
import { decrypt, encrypt, generateKeyPair, openContainer } from '../../../../lib/crypt4gh/index.ts';
import { collect, generatedPlaintext } from '../../../helpers/crypt4gh-vectors.ts';
import { bytesSource } from '../../../helpers/recording-source.ts';

const { privateKey, publicKey } = generateKeyPair();
const privateKeys = [privateKey];

/** A reader looks at nothing but what it is asked for; docs/crypt4gh.md says so. */
describe('what a reader does not notice', () => {
  const bytes = generatedPlaintext('not noticed', 2 * 65_536);
  const opened = (container: Uint8Array, more = {}) => openContainer(bytesSource(container), { privateKeys, ...more });
  const whole = () => collect(encrypt([bytes], { recipients: [publicKey] }));

  test('a segment that is damaged, until that segment is read', async () => {
    const container = await whole();
    container[container.length - 1]! ^= 1;
    const reader = await opened(container);
    expect(reader.size).toBe(131_072);
    expect(Buffer.from(await reader.read(0, 65_536)).equals(bytes.subarray(0, 65_536))).toBe(true);
    await expect(reader.read(131_071, 1)).rejects.toMatchObject({ code: 'segment-authentication-failed', segment: 1 });
  });

  test('an empty last segment that is forged, until the end is read', async () => {
    const forged = Buffer.alloc(28, 0xaa);
    const container = Buffer.concat([await whole(), forged]);
    const refused = { code: 'segment-authentication-failed', segment: 2 };
    await expect(collect(decrypt([container], { privateKeys }))).rejects.toMatchObject(refused);
    for (const segmentsPerFetch of [1, 2, 16]) {
      const reader = await opened(container, { segmentsPerFetch });
      expect(reader.size).toBe(131_072);
      expect(Buffer.from(await reader.read(0, 131_071)).equals(bytes.subarray(0, -1))).toBe(true);
      await expect(reader.read(0, 131_072)).rejects.toMatchObject(refused);
      await expect(reader.read(131_072, 1)).rejects.toMatchObject(refused);
      await expect(collect(reader.stream())).rejects.toMatchObject(refused);
      await expect(reader.readRanges([{ start: 5, end: 6 }, { start: 131_070 }])).rejects.toMatchObject(refused);
    }
    const nothing = Buffer.concat([container.subarray(0, 124), forged]);
    await expect((await opened(nothing)).read(0, 1)).rejects.toMatchObject({ ...refused, segment: 0 });
  });

  test('that the body ends at a border of segments, unless the size is known', async () => {
    const container = (await whole()).subarray(0, -65_564);
    const reader = await opened(container);
    expect(reader.size).toBe(65_536);
    expect((await reader.read(65_530, 100)).length).toBe(6);
    await expect(opened(container, { expectedSize: 131_072 })).rejects.toMatchObject({ code: 'truncated-body' });
  });
});
