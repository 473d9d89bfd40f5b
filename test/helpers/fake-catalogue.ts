import type { ArchivedFile, Catalogue, FileReference } from '../../lib/export/ports.ts';
import type { PortCalls } from './port-calls.ts';

interface Dataset {
  released: boolean;
  readonly aliases: readonly string[];
  readonly fileIds: string[];
}

/** A catalogue in memory. Pages hold three ids, so that small datasets have several. */
export class FakeCatalogue implements Catalogue {
  readonly datasets = new Map<string, Dataset>();
  readonly files = new Map<string, Omit<ArchivedFile, 'datasetId'>>();
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

  resolveDataset(id: string): Promise<string | undefined> {
    return this.#calls.run(`catalogue.resolveDataset ${id}`, () => {
      if (this.datasets.has(id)) return id;
      return [...this.datasets].find(([, { aliases }]) => aliases.includes(id))?.[0];
    });
  }

  isReleased(datasetId: string): Promise<boolean> {
    return this.#calls.run(`catalogue.isReleased ${datasetId}`, () => this.datasets.get(datasetId)?.released ?? false);
  }

  datasetsOfFile(fileId: string): Promise<{ datasetId: string; released: boolean }[]> {
    return this.#calls.run('catalogue.datasetsOfFile', () =>
      [...this.datasets]
        .filter(([, { fileIds }]) => fileIds.includes(fileId))
        .map(([datasetId, { released }]) => ({ datasetId, released })),
    );
  }

  async *fileIdsOfDataset(datasetId: string): AsyncGenerator<readonly string[]> {
    const ids = this.datasets.get(datasetId)?.fileIds.toSorted() ?? [];
    for (let start = 0; start === 0 || start < ids.length; start += 3) {
      yield await this.#calls.run('catalogue.fileIdsOfDataset', () => ids.slice(start, start + 3));
    }
  }

  findReleasedFile({ fileId, datasetId }: FileReference): Promise<ArchivedFile | undefined> {
    return this.#calls.run('catalogue.findReleasedFile', () => {
      const dataset = this.datasets.get(datasetId);
      const file = this.files.get(fileId);
      return file && dataset?.released && dataset.fileIds.includes(fileId) ? { ...file, datasetId } : undefined;
    });
  }
}
