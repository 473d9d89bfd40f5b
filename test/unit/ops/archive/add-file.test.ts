import { beforeEach, describe, expect, test } from 'vitest';
import { decrypt, encrypt, generateKeyPair } from '../../../../lib/crypt4gh/index.ts';
import { unavailable } from '../../../../lib/errors.ts';
import { type AddFileRequest, addFile, maxBodyBytes } from '../../../../lib/ops/archive/add-file.ts';
import { collect, generatedPlaintext, sha256 } from '../../../helpers/crypt4gh-vectors.ts';
import { inputOf, makeOpsWorld, type OpsWorld } from '../../../helpers/ops-world.ts';

let world: OpsWorld;
beforeEach(async () => {
  world = await makeOpsWorld();
});

function request(bytes: Uint8Array, choices: Partial<AddFileRequest> = {}): AddFileRequest {
  return {
    datasetId: 'EGAD1',
    path: 'sample.bam',
    input: { label: 'sample.bam', size: bytes.length, bytes: inputOf(bytes) },
    keys: [world.archiveKey],
    ...choices,
  };
}

/** What a reader with the archive key gets from the header and body of a file. */
async function readBack(fileId: string): Promise<Buffer> {
  const file = world.files.get(fileId)!;
  const body = world.bodies.get(file.archiveFilePath)!;
  return collect(decrypt([file.header, body], { privateKeys: [world.archiveKey.privateKey] }));
}

describe('a new file', () => {
  test.each([0, 5, 65_536, 200_000])('of %i bytes can be read with the archive key, and is described', async (size) => {
    const plain = generatedPlaintext('ops/add', size);
    const added = await addFile(world.target, request(plain, { fileId: 'EGAF1' }));
    expect((await readBack('EGAF1')).equals(plain)).toBe(true);
    const file = world.files.get('EGAF1')!;
    const body = world.bodies.get(file.archiveFilePath)!;
    expect(file).toMatchObject({
      datasetId: 'EGAD1',
      submissionFilePath: 'sample.bam',
      submissionFileSize: size,
      archiveLocation: 'https://s3.example/archive',
      archiveFileSize: body.length,
      decryptedFileSize: size,
      keyHash: Buffer.from(world.archiveKey.publicKey).toString('hex'),
    });
    expect(file.checksums).toEqual([
      { source: 'UNENCRYPTED', type: 'SHA256', checksum: sha256(plain) },
      { source: 'ARCHIVED', type: 'SHA256', checksum: sha256(body) },
      { source: 'UPLOADED', type: 'SHA256', checksum: sha256(plain) },
    ]);
    expect(added).toEqual({
      fileId: 'EGAF1',
      datasetId: 'EGAD1',
      path: 'sample.bam',
      status: 'added',
      decryptedSize: size,
      sha256: sha256(plain),
      archivedSize: body.length,
      archivedSha256: sha256(body),
    });
  });

  test('a container for an older archive key is kept byte for byte', async () => {
    const older = generateKeyPair();
    const plain = generatedPlaintext('ops/older', 70_000);
    const container = await collect(encrypt([plain], { recipients: [older.publicKey] }));
    await addFile(world.target, request(container, { fileId: 'EGAF1', keys: [world.archiveKey, older] }));
    const file = world.files.get('EGAF1')!;
    expect(Buffer.concat([file.header, world.bodies.get(file.archiveFilePath)!]).equals(container)).toBe(true);
    expect(file.keyHash).toBe(Buffer.from(older.publicKey).toString('hex'));
    expect(file.checksums[2]).toEqual({ source: 'UPLOADED', type: 'SHA256', checksum: sha256(container) });
    expect(file.decryptedFileSize).toBe(70_000);
  });

  test('is entered into the catalogue only after its body is whole', async () => {
    await addFile(world.target, request(Buffer.from('a'), { fileId: 'EGAF1' }));
    expect(world.calls).toEqual(['findFile', 'upload', 'registerFile']);
  });
});

describe('nothing is half there', () => {
  test.each([
    ['an upload that fails', 'upload', unavailable('the archive bucket is away')],
    ['a body that the catalogue refuses', 'registerFile', new Error('no such column')],
  ])('%s leaves neither row nor body', async (_what, call, error) => {
    world.failures.set(call, { error });
    await expect(addFile(world.target, request(Buffer.from('a')))).rejects.toBe(error);
    expect([world.files.size, world.bodies.size]).toEqual([0, 0]);
  });

  test('two additions of one new file id at once: one exists, the other is a conflict and leaves no body', async () => {
    const both = ['one', 'two'].map((text) => addFile(world.target, request(Buffer.from(text), { fileId: 'EGAF1' })));
    const results = await Promise.allSettled(both);
    const refused = results.find(({ status }) => status === 'rejected');
    expect(refused).toMatchObject({ reason: { code: 'conflict', message: expect.stringContaining('file id EGAF1') } });
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect([...world.bodies.keys()]).toEqual([world.files.get('EGAF1')?.archiveFilePath]);
  });

  test('a lost answer of the catalogue is not a refusal: the file exists, and stays', async () => {
    world.failures.set('registerFile', { error: unavailable('no answer'), after: true });
    const added = await addFile(world.target, request(Buffer.from('a')));
    expect(added.status).toBe('added');
    expect(world.bodies.size).toBe(1);
  });

  test('if it is unknown whether the row exists, the body stays and is named', async () => {
    world.failures.set('registerFile', { error: unavailable('no answer') });
    let asked = 0;
    const findFile = async () => {
      asked += 1;
      if (asked > 1) throw new Error('still away');
      return undefined;
    };
    const target = { ...world.target, catalogue: { ...world.target.catalogue, findFile } };
    const error: unknown = await addFile(target, request(Buffer.from('a'), { fileId: 'EGAF1' })).catch((e) => e);
    const [body] = [...world.bodies.keys()];
    expect(error).toMatchObject({ code: 'conflict', message: expect.stringContaining(body!) });
  });

  test('a body that cannot be removed is named', async () => {
    world.failures.set('registerFile', { error: new Error('no such column') });
    world.failures.set('remove', { error: new Error('no such grant') });
    const error: unknown = await addFile(world.target, request(Buffer.from('a'))).catch((e) => e);
    const [body] = [...world.bodies.keys()];
    expect(error).toMatchObject({
      code: 'conflict',
      message: expect.stringContaining(body!),
      cause: { message: 'no such column' },
    });
  });

  test('an interrupt during the upload leaves nothing', async () => {
    const controller = new AbortController();
    const onRead = () => controller.abort(new Error('interrupted'));
    await expect(
      addFile(world.target, request(generatedPlaintext('ops/int', 100_000), { signal: controller.signal, onRead })),
    ).rejects.toThrow('interrupted');
    expect(world.bodies.size).toBe(0);
    expect(world.calls).not.toContain('registerFile');
  });

  test('an interrupt between body and catalogue removes the body', async () => {
    const controller = new AbortController();
    const { bodies } = world.target;
    const upload: typeof bodies.upload = async (key, source, options) => {
      const result = await bodies.upload(key, source, options);
      controller.abort(new Error('interrupted'));
      return result;
    };
    await expect(
      addFile(
        { ...world.target, bodies: { ...bodies, upload } },
        request(Buffer.from('a'), { signal: controller.signal }),
      ),
    ).rejects.toThrow('interrupted');
    expect(world.bodies.size).toBe(0);
    expect(world.files.size).toBe(0);
  });

  test.each([
    ['shrinks', 100],
    ['grows', 2],
  ])('a file that %s while it is read is refused', async (_what, size) => {
    const input = { label: 'growing.bam', size, bytes: inputOf('abcdefghij') };
    await expect(addFile(world.target, { ...request(Buffer.alloc(0)), input })).rejects.toMatchObject({
      code: 'unusable_input',
      message: expect.stringContaining('growing.bam changed while it was read'),
    });
    expect(world.bodies.size).toBe(0);
  });

  test('a damaged container is refused whole', async () => {
    const container = await collect(
      encrypt([generatedPlaintext('ops/damaged', 100_000)], { recipients: [world.archiveKey.publicKey] }),
    );
    container[container.length - 1]! ^= 1;
    await expect(addFile(world.target, request(container))).rejects.toMatchObject({
      code: 'segment-authentication-failed',
    });
    expect(world.bodies.size).toBe(0);
    expect(world.files.size).toBe(0);
  });

  test('a file above the limit of S3 is refused before a byte is read', async () => {
    const input = { label: 'huge.bam', size: maxBodyBytes + 1, bytes: inputOf('never read') };
    await expect(addFile(world.target, { ...request(Buffer.alloc(0)), input })).rejects.toMatchObject({
      code: 'too_large',
    });
    expect(world.calls).not.toContain('upload');
  });
});

describe('a file id that is known', () => {
  beforeEach(async () => {
    await addFile(world.target, request(Buffer.from('the same'), { fileId: 'EGAF1' }));
  });

  test('with the same path and plaintext: nothing changes', async () => {
    const again = await addFile(world.target, request(Buffer.from('the same'), { fileId: 'EGAF1' }));
    expect(again.status).toBe('unchanged');
    expect(world.bodies.size).toBe(1);
  });

  test('the same in another dataset: it is in both, its body is kept once', async () => {
    const again = await addFile(
      world.target,
      request(Buffer.from('the same'), { fileId: 'EGAF1', datasetId: 'EGAD2' }),
    );
    expect(again).toMatchObject({ status: 'linked', datasetId: 'EGAD2' });
    expect([...world.memberships.get('EGAF1')!]).toEqual(['EGAD1', 'EGAD2']);
    expect(world.bodies.size).toBe(1);
  });

  test('of a file without a digest is refused: it cannot be compared', async () => {
    world.files.set('EGAF1', { ...world.files.get('EGAF1')!, checksums: [] });
    await expect(addFile(world.target, request(Buffer.from('the same'), { fileId: 'EGAF1' }))).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('does not have'),
    });
  });

  test.each([
    ['content', { fileId: 'EGAF1' }, 'the other'],
    ['path', { fileId: 'EGAF1', path: 'other.bam' }, 'the same'],
  ])('with another %s is refused', async (what, choices, text) => {
    await expect(addFile(world.target, request(Buffer.from(text), choices))).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining(what),
    });
    expect(world.bodies.size).toBe(1);
  });
});
