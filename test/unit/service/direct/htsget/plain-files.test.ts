import { expect, test } from 'vitest';
import { encrypt, generateKeyPair } from '../../../../../lib/crypt4gh/index.ts';
import { damaged } from '../../../../../lib/errors.ts';
import type { ArchivedFile, ArchiveKey } from '../../../../../lib/service/archive/ports.ts';
import { PlainFiles } from '../../../../../lib/service/direct/htsget/plain-files.ts';
import type { DirectArchive } from '../../../../../lib/service/direct/ports.ts';
import { streamed, vector } from '../../../../helpers/region-files.ts';

const headerBytes = 124;
const mine = generateKeyPair();

/** An archive of one body, and how many of its reads are open. */
async function archived(
  name: string,
  { sizeInCatalogue, keys = mine, plain = vector(name) }: { sizeInCatalogue?: number; keys?: object; plain?: Buffer },
) {
  const pieces: Uint8Array[] = [];
  for await (const piece of encrypt(streamed(plain), { recipients: [mine.publicKey] })) pieces.push(piece);
  const container = Buffer.concat(pieces);
  const body = container.subarray(headerBytes);
  const reads = { begun: 0, open: 0, etag: '"1"' };
  async function* pieceByPiece() {
    try {
      for (let at = 0; at < body.length; at += 65_564) yield body.subarray(at, at + 65_564);
    } finally {
      reads.open -= 1;
    }
  }
  const archive = {
    async begin(_address: unknown, end?: number) {
      if (body.length === 0 && end !== undefined) throw damaged('416 InvalidRange');
      reads.begun += 1;
      reads.open += 1;
      return { size: body.length, etag: reads.etag, bytes: pieceByPiece() };
    },
    head: async () => ({ size: body.length, etag: reads.etag }),
  };
  const files = new PlainFiles({
    archive: archive as unknown as DirectArchive,
    archiveKeys: { candidates: async () => [keys as ArchiveKey] } as never,
  });
  const file: ArchivedFile = {
    fileId: 'EGAF1',
    datasetId: 'EGAD1',
    submissionFilePath: name,
    archiveLocation: 's3://archive',
    archiveFilePath: 'key',
    archiveFileSize: sizeInCatalogue ?? body.length,
    keyHash: undefined,
    header: container.subarray(0, headerBytes),
  } as ArchivedFile;
  return { files, file, reads };
}

test('a read that was begun is ended when the body has another size than the catalogue says', async () => {
  const { files, file, reads } = await archived('reads.bam.bai', { sizeInCatalogue: 5 });
  await expect(files.index(file, file.archiveFileSize)).rejects.toThrow(
    expect.objectContaining({ code: 'archive_damaged' }),
  );
  await expect(files.withHead(file, 'BAM')).rejects.toThrow(expect.objectContaining({ code: 'archive_damaged' }));
  expect(reads).toMatchObject({ begun: 2, open: 0 });
});

test('a read that was begun is ended when no key opens the header, and when the bytes are not an index', async () => {
  const locked = await archived('reads.bam.bai', { keys: generateKeyPair() });
  await expect(locked.files.index(locked.file, 1000)).rejects.toThrow(
    expect.objectContaining({ code: 'archive_damaged' }),
  );
  expect(locked.reads).toMatchObject({ begun: 1, open: 0 });
  const foreign = await archived('reads.bam', {});
  await expect(foreign.files.index(foreign.file, 1000)).rejects.toThrow(
    'it starts as none of BAI, CSI, TBI and CRAI does',
  );
  expect(foreign.reads).toMatchObject({ begun: 1, open: 0 });
});

test('a file that has neither an index nor a header in it is read once as well', async () => {
  const { files, file, reads } = await archived('reads.bam', {});
  for (let request = 0; request < 2; request += 1) {
    await expect(files.index(file, 1000)).rejects.toThrow('it starts as none of BAI, CSI, TBI and CRAI does');
    await expect(files.withHead(file, 'VCF')).rejects.toThrow('it does not start as a VCF file does');
  }
  expect(reads).toMatchObject({ begun: 2, open: 0 });
});

test('an index is read once, and again when the archive has another object under its key', async () => {
  const { files, file, reads } = await archived('reads.bam.bai', {});
  const first = await files.index(file, file.archiveFileSize);
  expect([await files.index(file, file.archiveFileSize), reads.begun]).toEqual([first, 1]);
  reads.etag = '"2"';
  expect(await files.index(file, file.archiveFileSize)).not.toBe(first);
  expect(reads).toMatchObject({ begun: 2, open: 0 });
});

test('an empty file is not a BAM, and the archive is not called damaged', async () => {
  const { files, file } = await archived('empty.bam', { plain: Buffer.alloc(0) });
  await expect(files.withHead(file, 'BAM')).rejects.toThrow(expect.objectContaining({ code: 'unsupported_format' }));
});
