import { readFileSync } from 'node:fs';
import { type DenyListEntry, denyListOf } from '../../lib/contract/deny-list.ts';
import { type FileExportMessage, fileExportMessage } from '../../lib/contract/messages.ts';
import type { ArchiveKey } from '../../lib/service/archive/ports.ts';
import type { ConsumeDependencies } from '../../lib/service/export/consume.ts';
import type { StageDependencies } from '../../lib/service/export/export-order.ts';
import type { ExportEvent, FileEnd, FileRecords } from '../../lib/service/export/ledger-port.ts';
import type { Deliveries, FileExport, FileExports } from '../../lib/service/export/ports.ts';
import { type DatasetGrant, VisaError, type VisaErrorCode } from '../../lib/visas/index.ts';
import { FakeArchive } from './fake-archive.ts';
import { FakeCatalogue } from './fake-catalogue.ts';
import { FakeCopyRecords } from './fake-copy-records.ts';
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

class FakeFileExports implements FileExports {
  /** As the queue has them. */
  readonly sent: FileExportMessage[] = [];
  readonly #calls: PortCalls;
  readonly #name: string;
  constructor(calls: PortCalls, name: string) {
    this.#calls = calls;
    this.#name = name;
  }
  send(files: readonly FileExport[]): Promise<void> {
    return this.#calls.run(`${this.#name}.send`, () => {
      if (files.length === 0) throw new Error('EmptyBatchRequest');
      this.sent.push(...files.map(({ requestId, ...file }) => fileExportMessage.parse({ ...file, requestId })));
    });
  }
}

class FakeDeliveries implements Deliveries {
  readonly sent: string[] = [];
  readonly #calls: PortCalls;
  constructor(calls: PortCalls) {
    this.#calls = calls;
  }
  send(requestIds: readonly string[]): Promise<void> {
    return this.#calls.run('deliveries.send', () => {
      if (requestIds.length === 0) throw new Error('EmptyBatchRequest');
      this.sent.push(...requestIds);
    });
  }
}

/** Keeps what is recorded of files, and knows no request. */
class RecordedEnds implements FileRecords {
  readonly events = new Map<string, ExportEvent>();
  /** Ids of files whose rows the database refuses. */
  readonly refused = new Set<string>();
  readonly #calls: PortCalls;
  constructor(calls: PortCalls) {
    this.#calls = calls;
  }
  record(ends: readonly FileEnd[], events: readonly ExportEvent[]): Promise<readonly string[]> {
    return this.#calls.run(`ledger.record ${ends.map(({ state }) => state).join(' ')}`, () => {
      if (events.some(({ fileId = '' }) => this.refused.has(fileId))) throw new Error('the database refuses a row');
      for (const one of events) this.events.set(`${one.requestId} ${one.event} ${one.fileId ?? ''}`, one);
      return [];
    });
  }
  finalizable(): Promise<readonly string[]> {
    return Promise.reject(new Error('no request is known'));
  }
}

/** All ports that stage files, in memory, with one record of the calls they received. Archive key: alice of the vectors. */
export class ExportWorld {
  readonly calls = new PortCalls();
  readonly catalogue = new FakeCatalogue(this.calls);
  readonly archive = new FakeArchive(this.calls);
  readonly outbox = new FakeOutbox(this.calls, this.archive);
  readonly recorded = new RecordedEnds(this.calls);
  readonly deliveries = new FakeDeliveries(this.calls);
  readonly copies = new FakeCopyRecords(this.calls);
  readonly fileExports = new FakeFileExports(this.calls, 'fileExports');
  readonly smallFileExports = new FakeFileExports(this.calls, 'smallFileExports');
  archiveKeys: readonly ArchiveKey[] = [vectorKey('alice')];
  readonly deniedEntries: DenyListEntry[] = [];
  /** The result of verification by token; every other token is malformed. */
  readonly visas = new Map<string, readonly DatasetGrant[] | VisaErrorCode | Error>();

  /** With one file of this body, EGAF1, in the released dataset EGAD1. */
  static of(body: Uint8Array, submissionFilePath = 'run 7/sample.bam'): ExportWorld {
    const world = new ExportWorld();
    world.catalogue.addDataset('EGAD1', { released: true, fileIds: ['EGAF1'] });
    world.addFile('EGAF1', body, submissionFilePath);
    return world;
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

  get rows(): readonly ExportEvent[] {
    return [...this.recorded.events.values()];
  }

  get ledger(): FileRecords {
    return this.recorded;
  }

  get staging(): StageDependencies {
    const { catalogue, archive, outbox, ledger, deliveries, copies } = this;
    const candidates = () => this.calls.run('archiveKeys.candidates', () => this.archiveKeys);
    const denied = () => this.calls.run('denyList.current', () => denyListOf({ denied: this.deniedEntries }));
    return {
      ...{ catalogue, archive, outbox, ledger, deliveries, copies, denied },
      archiveKeys: { candidates },
      now: () => this.outbox.now,
    };
  }

  protected verify(token: string): ReturnType<ConsumeDependencies['rules']['verify']> {
    return this.calls.run('verify', () => {
      const result = this.visas.get(token) ?? 'malformed_token';
      if (result instanceof Error) throw result;
      if (typeof result === 'string') throw new VisaError(result);
      const subjects = result.map((grant) => grant.subject);
      return {
        kind: 'visa' as const,
        subject: subjects[0] ?? { iss: 'https://issuer.example', sub: 'stranger' },
        subjects,
        grants: result,
        datasetIds: new Set(result.map((grant) => grant.datasetId)),
        expiresAt: new Date('2026-11-21T11:00:00Z'),
        ignored: [],
      };
    });
  }
}
