import type { UploadedPart } from '../../lib/archive/ports.ts';
import type { CopyId, CopyRecords, RecordedUpload } from '../../lib/export/ports.ts';
import type { PortCalls } from './port-calls.ts';

interface Row {
  holder: string;
  fruitless: number;
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
      const row: Row = this.rows.get(nameOf(id)) ?? { holder, fruitless: 0, upload: undefined, parts: new Map() };
      row.holder = holder;
      row.fruitless = isFirst ? 1 : row.fruitless + 1;
      this.rows.set(nameOf(id), row);
      const { fruitless, upload } = row;
      return { fruitless, upload: upload && { ...upload, parts: [...row.parts.values()] } };
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
      row.fruitless = 0;
      return true;
    });
  }

  setFruitless(id: CopyId, fruitless: number): Promise<void> {
    return this.#calls.run('copies.setFruitless', () => {
      const row = this.rows.get(nameOf(id));
      if (row) row.fruitless = fruitless;
    });
  }

  find(id: CopyId) {
    return this.#calls.run('copies.find', () => this.rows.get(nameOf(id))?.upload);
  }

  forget(id: CopyId): Promise<void> {
    return this.#calls.run('copies.forget', () => {
      this.rows.delete(nameOf(id));
    });
  }

  uploadsTo(key: string): Promise<ReadonlySet<string>> {
    return this.#calls.run(
      'copies.uploadsTo',
      () => new Set([...this.rows.values()].flatMap(({ upload }) => (upload?.key === key ? [upload.uploadId] : []))),
    );
  }

  #held(id: CopyId, holder: string): Row | undefined {
    const row = this.rows.get(nameOf(id));
    return row?.holder === holder ? row : undefined;
  }
}
