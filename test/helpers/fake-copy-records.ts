import type { UploadedPart } from '../../lib/service/archive/ports.ts';
import type { CopyId, CopyRecords, RecordedUpload } from '../../lib/service/export/ledger-port.ts';
import type { PortCalls } from './port-calls.ts';

interface Row {
  holder: string;
  withoutProgress: number;
  upload: Omit<RecordedUpload, 'parts'> | undefined;
  readonly parts: Map<number, UploadedPart>;
}

const nameOf = ({ requestId, fileId }: CopyId) => `${requestId} ${fileId}`;

/** The records of unfinished copies, in memory. */
export class FakeCopyRecords implements CopyRecords {
  readonly rows = new Map<string, Row>();
  readonly #calls: PortCalls;

  constructor(calls: PortCalls) {
    this.#calls = calls;
  }

  take(id: CopyId, holder: string, isFirst: boolean) {
    return this.#calls.run('copies.take', () => {
      const row: Row = this.rows.get(nameOf(id)) ?? { holder, withoutProgress: 0, upload: undefined, parts: new Map() };
      row.holder = holder;
      row.withoutProgress = isFirst ? 1 : row.withoutProgress + 1;
      this.rows.set(nameOf(id), row);
      const { withoutProgress, upload } = row;
      return { withoutProgress, upload: upload && { ...upload, parts: [...row.parts.values()] } };
    });
  }

  begin(id: CopyId, holder: string, upload: Omit<RecordedUpload, 'parts'>): Promise<boolean> {
    return this.#calls.run('copies.begin', () => {
      const row = this.#held(id, holder);
      if (!row) return false;
      row.upload = { ...upload };
      row.parts.clear();
      return true;
    });
  }

  save(id: CopyId, holder: string, parts: readonly UploadedPart[]): Promise<boolean> {
    return this.#calls.run('copies.save', () => {
      const row = this.#held(id, holder);
      if (!row) return false;
      for (const part of parts) row.parts.set(part.partNumber, part);
      row.withoutProgress = 0;
      return true;
    });
  }

  find(id: CopyId) {
    return this.#calls.run('copies.find', () => {
      const upload = this.rows.get(nameOf(id))?.upload;
      return upload && { ...id, outboxKey: upload.outboxKey, uploadId: upload.uploadId };
    });
  }

  forget(id: CopyId): Promise<void> {
    return this.#calls.run('copies.forget', () => {
      this.rows.delete(nameOf(id));
    });
  }

  uploadsTo(key: string): Promise<ReadonlySet<string>> {
    return this.#calls.run(
      'copies.uploadsTo',
      () =>
        new Set([...this.rows.values()].flatMap(({ upload }) => (upload?.outboxKey === key ? [upload.uploadId] : []))),
    );
  }

  ofDataset(): Promise<never> {
    return Promise.reject(new Error('nobody withdraws here'));
  }

  forgetUpload(): Promise<never> {
    return Promise.reject(new Error('nobody withdraws here'));
  }

  #held(id: CopyId, holder: string): Row | undefined {
    const row = this.rows.get(nameOf(id));
    return row?.holder === holder ? row : undefined;
  }
}
