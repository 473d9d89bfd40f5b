import { readFileSync } from 'node:fs';
import type { ArchiveKey } from '../../lib/service/archive/ports.ts';
import { FakeArchive } from './fake-archive.ts';
import { FakeCatalogue } from './fake-catalogue.ts';
import { FakeOutbox } from './fake-outbox.ts';
import { PortCalls } from './port-calls.ts';

export const vector = (path: string): Buffer => readFileSync(new URL(`../vectors/${path}`, import.meta.url));

/** Keys of the test vectors, as `manifest.json` gives them. */
const manifest: { keys: { id: string; private_key_hex: string; public_key_hex: string }[] } = JSON.parse(
  vector('manifest.json').toString(),
);
export function vectorKey(id: string): ArchiveKey {
  const key = manifest.keys.find((candidate) => candidate.id === id);
  if (!key) throw new Error(`no key ${id} among the vectors`);
  return { privateKey: Buffer.from(key.private_key_hex, 'hex'), publicKey: Buffer.from(key.public_key_hex, 'hex') };
}

/** Catalogue, archive and outbox in memory, with one record of the calls they received. Archive key: alice of the vectors. */
export class ExportWorld {
  readonly calls = new PortCalls();
  readonly catalogue = new FakeCatalogue(this.calls);
  readonly archive = new FakeArchive(this.calls);
  readonly outbox = new FakeOutbox(this.calls, this.archive);
  archiveKeys: readonly ArchiveKey[] = [vectorKey('alice')];

  /** With one file of this body, EGAF1, in the released dataset EGAD1. */
  static of(body: Uint8Array, submissionFilePath = 'run 7/sample.bam'): ExportWorld {
    const world = new ExportWorld();
    world.catalogue.addDataset('EGAD1', { released: true, fileIds: ['EGAF1'] });
    world.addFile('EGAF1', body, submissionFilePath);
    return world;
  }

  /** What the direct API takes. */
  get direct() {
    const { catalogue, archive, outbox } = this;
    const candidates = () => this.calls.run('archiveKeys.candidates', () => this.archiveKeys);
    return { catalogue, archive, outbox, archiveKeys: { candidates }, now: () => outbox.now };
  }

  /** A file of `datasets` with the header of the vectors and this body. */
  addFile(fileId: string, body: Uint8Array, submissionFilePath = `dir/${fileId}.bin`): void {
    const archiveFilePath = `bodies/${fileId}`;
    this.archive.set(archiveFilePath, body);
    this.catalogue.files.set(fileId, {
      fileId,
      submissionFilePath,
      archiveLocation: undefined,
      archiveFilePath,
      archiveFileSize: body.length,
      header: vector('split/header.bin'),
      keyHash: undefined,
    });
  }
}
