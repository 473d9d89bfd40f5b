import { outboxMetadataOf } from '../../lib/contract/outbox-key.ts';
import type {
  ContainerFilter,
  DeprecatedDataset,
  EndedContainer,
  ExportEvent,
  OutboxRecords,
  RecordedContainer,
  RecordedCopy,
} from '../../lib/service/export/ledger-port.ts';

interface HeldObject {
  etag: string;
  readonly size: number;
  readonly lastModified: Date;
  readonly metadata: Readonly<Record<string, string>>;
}

/** An outbox and its rows, in memory, for what removes containers. */
export class WithdrawWorld {
  readonly objects = new Map<string, HeldObject>();
  readonly rows: RecordedContainer[] = [];
  readonly events: ExportEvent[] = [];
  readonly settled: EndedContainer[] = [];
  deprecated: DeprecatedDataset[] = [];
  recordedCopies: RecordedCopy[] = [];
  /** Ids of unfinished uploads by key. */
  readonly uploads = new Map<string, Set<string>>();
  /** Runs between the look at a key and what follows. */
  afterHead: (key: string) => void = () => undefined;
  /** What was called, in order. */
  readonly calls: string[] = [];
  pageSize = 400;

  /** Put a container under a key; `requestId` and `datasetId` are those of its metadata. */
  hold(key: string, { requestId, datasetId = 'EGAD1', fileId = 'EGAF1', size = 7 }: Partial<Facts> = {}): void {
    const metadata = outboxMetadataOf({
      requestId: requestId ?? '11111111-1111-4111-8111-111111111111',
      requestedAt: '2026-11-21T09:00:00.000Z',
      fileId,
      datasetId,
      keyFingerprint: 'ab12',
    });
    const lastModified = new Date('2026-11-21T09:00:01.000Z');
    this.objects.set(key, { etag: `"${this.objects.size}-${Math.random()}"`, size, lastModified, metadata });
  }

  /** A container with its row. */
  stage(row: RecordedContainer, size = 7): void {
    this.rows.push(row);
    this.hold(row.key, { ...row, size });
  }

  /** How often a request was noted as open. */
  marked = 0;

  readonly outbox = {
    head: async (key: string) => {
      const object = this.objects.get(key);
      const seen = object && { ...object };
      this.afterHead(key);
      return seen;
    },
    markOpen: async () => {
      this.marked += 1;
    },
    remove: async (key: string, etag: string) => {
      this.calls.push(`remove ${key}`);
      const object = this.objects.get(key);
      if (!object) return 'gone' as const;
      if (object.etag !== etag) return 'replaced' as const;
      this.objects.delete(key);
      return 'removed' as const;
    },
    keysOf: async function* (this: WithdrawWorld, recipient: string) {
      yield [...this.objects.keys()].filter((key) => key.startsWith(`${recipient}/`));
    }.bind(this),
    directKeys: async function* (this: WithdrawWorld) {
      yield [...this.objects.keys()].filter((key) => key.startsWith('direct/'));
    }.bind(this),
    abortUploads: async (key: string, kept: ReadonlySet<string>) => {
      this.calls.push(`abort ${key}`);
      for (const id of this.uploads.get(key) ?? []) if (!kept.has(id)) this.uploads.get(key)?.delete(id);
    },
  };

  readonly ledger: OutboxRecords = {
    deprecatedDatasets: async () => this.deprecated,
    containers: async function* (this: WithdrawWorld, filter: ContainerFilter) {
      const wanted = this.rows.filter((row) =>
        Object.entries(filter).every(([name, value]) => row[name as keyof RecordedContainer] === value),
      );
      for (let from = 0; from < wanted.length; from += this.pageSize) yield wanted.slice(from, from + this.pageSize);
    }.bind(this),
    recordRemoval: async (containers, events) => {
      this.calls.push('record');
      this.events.push(...events);
      this.settled.push(...containers);
      for (const { requestId, fileId } of containers) {
        const index = this.rows.findIndex((row) => row.requestId === requestId && row.fileId === fileId);
        if (index >= 0) this.rows.splice(index, 1);
      }
    },
  };

  readonly copies = {
    uploadsTo: async (key: string) => new Set(this.recorded.get(key) ?? []),
    ofDataset: async (datasetId: string) => (datasetId === 'EGAD1' ? this.recordedCopies : []),
    forgetUpload: async (copy: RecordedCopy) => {
      this.calls.push(`forget ${copy.uploadId}`);
      this.recordedCopies = this.recordedCopies.filter((one) => one !== copy);
    },
  };
  /** Ids of uploads that the database knows, by key. */
  readonly recorded = new Map<string, readonly string[]>();
}

interface Facts {
  readonly requestId: string;
  readonly datasetId: string;
  readonly fileId: string;
  readonly size: number;
}
