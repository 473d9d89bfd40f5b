import { damaged } from '../../lib/errors.ts';
import type { AccessResult, ArchivedFile, FileReference, RequestedData } from '../../lib/service/archive/ports.ts';
import type { Attempt, ExportablePage, ExportCatalogue } from '../../lib/service/export/ports.ts';
import type { PortCalls } from './port-calls.ts';

interface Dataset {
  released: boolean;
  readonly aliases: readonly string[];
  readonly fileIds: string[];
}

/** Primary key of a file, whose order is that of the stable ids. */
export function rowIdOf(fileId: string): string {
  const digits = Buffer.from(fileId.padEnd(16, '\0')).toString('hex');
  return digits.replace(/(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** A catalogue in memory. Pages hold three ids, so that small datasets have several. */
export class FakeCatalogue implements ExportCatalogue {
  readonly datasets = new Map<string, Dataset>();
  readonly files = new Map<string, Omit<ArchivedFile, 'datasetId'>>();
  /** Numbers of files that no test makes. */
  readonly counts = new Map<string, number>();
  /** Ids of files whose rows hold no header. */
  readonly damaged = new Set<string>();
  /** Receives the attempts that a query notes. */
  onAttempts: (attempts: readonly Attempt[]) => Promise<void> = async () => {};
  readonly #calls: PortCalls;

  constructor(calls: PortCalls) {
    this.#calls = calls;
  }

  addDataset(
    id: string,
    options: { released: boolean; aliases?: readonly string[]; fileIds?: readonly string[] },
  ): void {
    const { released, aliases = [], fileIds = [] } = options;
    this.datasets.set(id, { released, aliases, fileIds: [...fileIds] });
  }

  setReleased(id: string, released: boolean): void {
    const dataset = this.datasets.get(id);
    if (!dataset) throw new Error(`no dataset ${id} in this test`);
    dataset.released = released;
  }

  evaluateAccess(granted: readonly string[], wanted?: RequestedData): Promise<AccessResult> {
    return this.#calls.run('catalogue.evaluateAccess', () => {
      const names = granted.map((id) => this.#named(id));
      const wantedIds = this.#wantedIds(names, wanted);
      const entitled = wantedIds.filter((id) => names.includes(id) && this.datasets.get(id)?.released).sort();
      return {
        known: wantedIds.length > 0,
        granted: wantedIds.some((id) => names.includes(id)),
        entitled: entitled.map((datasetId) => ({
          datasetId,
          namedBy: names.flatMap((name, index) => (name === datasetId ? [index] : [])),
        })),
      };
    });
  }

  #wantedIds(granted: readonly (string | undefined)[], wanted: RequestedData | undefined): string[] {
    if (!wanted) return [...this.datasets.keys()].filter((id) => granted.includes(id));
    if ('datasetId' in wanted) return [this.#named(wanted.datasetId)].filter((id) => id !== undefined);
    return [...this.datasets].flatMap(([id, { fileIds }]) => (fileIds.includes(wanted.fileId) ? [id] : []));
  }

  #named(id: string): string | undefined {
    if (this.datasets.has(id)) return id;
    const named = [...this.datasets].filter(([, { aliases }]) => aliases.includes(id));
    return named.length === 1 ? named[0]?.[0] : undefined;
  }

  isReleased(datasetId: string): Promise<boolean> {
    return this.#calls.run(`catalogue.isReleased ${datasetId}`, () => this.datasets.get(datasetId)?.released ?? false);
  }

  async *exportableFiles(datasetId: string, after: string): AsyncGenerator<ExportablePage> {
    const ids = (this.datasets.get(datasetId)?.fileIds.toSorted() ?? []).filter((id) => rowIdOf(id) > after);
    for (let start = 0; start === 0 || start < ids.length; start += 3) {
      const page = ids.slice(start, start + 3);
      yield await this.#calls.run('catalogue.exportableFiles', () => this.#page(page));
    }
  }

  hasMoreFiles(datasetId: string, count: number): Promise<boolean> {
    return Promise.resolve((this.counts.get(datasetId) ?? 0) > count);
  }

  exportableFile(fileId: string): Promise<ExportablePage> {
    return this.#calls.run('catalogue.exportableFile', () => this.#page([fileId]));
  }

  #page(ids: readonly string[]): ExportablePage {
    const last = ids.at(-1);
    return {
      files: ids.map((fileId) => ({ fileId, archiveFileSize: this.#sizeOf(fileId) })),
      end: last === undefined ? '' : rowIdOf(last),
    };
  }

  #sizeOf(fileId: string): number | undefined {
    return this.files.get(fileId)?.archiveFileSize;
  }

  findReleasedFile(reference: FileReference): Promise<ArchivedFile | undefined> {
    return this.#calls.run('catalogue.findReleasedFile', () => this.#released(reference));
  }

  findReleasedFiles(attempts: readonly Attempt[]): Promise<readonly PromiseSettledResult<ArchivedFile | undefined>[]> {
    return this.#calls.run('catalogue.findReleasedFiles', async () => {
      if (attempts.length === 0 || attempts.length > 10) throw new Error('one to ten files at a time');
      await this.onAttempts(attempts);
      return Promise.allSettled(attempts.map(async (reference) => this.#released(reference)));
    });
  }

  #released({ fileId, datasetId }: FileReference): ArchivedFile | undefined {
    if (this.damaged.has(fileId)) throw damaged(`the header of file ${fileId} is not hexadecimal`);
    const dataset = this.datasets.get(datasetId);
    const file = this.files.get(fileId);
    return file && dataset?.released && dataset.fileIds.includes(fileId) ? { ...file, datasetId } : undefined;
  }
}
