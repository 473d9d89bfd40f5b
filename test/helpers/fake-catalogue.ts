import type {
  AccessResult,
  ArchivedFile,
  Catalogue,
  FileReference,
  RequestedData,
} from '../../lib/service/archive/ports.ts';
import type { PortCalls } from './port-calls.ts';

interface Dataset {
  released: boolean;
  readonly aliases: readonly string[];
  readonly fileIds: string[];
}

/** A catalogue in memory. */
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

  async hasMoreFiles(datasetId: string, count: number): Promise<boolean> {
    return (this.datasets.get(datasetId)?.fileIds.length ?? 0) > count;
  }

  findReleasedFile(reference: FileReference): Promise<ArchivedFile | undefined> {
    return this.#calls.run('catalogue.findReleasedFile', () => this.#released(reference));
  }

  #released({ fileId, datasetId }: FileReference): ArchivedFile | undefined {
    const dataset = this.datasets.get(datasetId);
    const file = this.files.get(fileId);
    return file && dataset?.released && dataset.fileIds.includes(fileId) ? { ...file, datasetId } : undefined;
  }
}
