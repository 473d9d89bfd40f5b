import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatPrivateKey, generateKeyPair } from '../../../lib/crypt4gh/index.ts';
import { freePort } from '../../../lib/local/http.ts';
import { addFile } from '../../../lib/ops/archive/add-file.ts';
import { readArchiveKeys } from '../../../lib/ops/secrets/archive-keys.ts';
import { localTarget } from '../../../lib/ops/target.ts';
import { containerOf } from '../../helpers/client-world.ts';
import { genomes, makeGenomes } from '../../helpers/genomes.ts';
import { type RunningServe, startServe } from '../../helpers/running-serve.ts';
import { Service } from '../../helpers/service.ts';

/** One for all files: they run in one process. */
let shared: Promise<ArchivedGenomes> | undefined;

/** A service whose released dataset `EGAD1` has the genomes and their indexes. It ends with the process. */
export class ArchivedGenomes {
  readonly service: Service;
  /** Of the plain files, as htslib wrote them. */
  readonly folder: string;
  /** A port of this machine where a page may be that browsers let read tickets. */
  readonly pagePort: number;
  readonly #fileIds: ReadonlyMap<string, string>;
  #containers: Promise<void> | undefined;

  private constructor(service: Service, folder: string, pagePort: number, fileIds: ReadonlyMap<string, string>) {
    this.service = service;
    this.folder = folder;
    this.pagePort = pagePort;
    this.#fileIds = fileIds;
  }

  static shared(): Promise<ArchivedGenomes> {
    shared ??= ArchivedGenomes.#make();
    return shared;
  }

  static async #make(): Promise<ArchivedGenomes> {
    const folder = await mkdtemp(join(tmpdir(), 'data-out-regions-'));
    const pagePort = await freePort([0]);
    const environment = { HTSGET_ORIGINS: `http://127.0.0.1:${pagePort}` };
    const [service] = await Promise.all([Service.start({ environment }), makeGenomes(folder)]);
    const target = localTarget(service.connection);
    const keys = await readArchiveKeys(target.archiveKeys);
    const fileIds = new Map<string, string>();
    for (const name of genomes.flatMap(({ data, index }) => [data, index])) {
      const input = { label: name, size: undefined, bytes: createReadStream(join(folder, name)) };
      const { fileId } = await addFile(target, { datasetId: 'EGAD1', path: `study/${name}`, input, keys });
      fileIds.set(name, fileId);
    }
    await service.setDataset('EGAD1', 'released');
    return new ArchivedGenomes(service, folder, pagePort, fileIds);
  }

  fileId(name: string): string {
    const id = this.#fileIds.get(name);
    if (id === undefined) throw new Error(`${name} was not archived`);
    return id;
  }

  /** URL of a ticket. */
  ticket({ kind, data }: { readonly kind: string; readonly data: string }): string {
    return `${this.service.connection.dataOutUrl.replace(/\/$/, '')}/htsget/${kind}/${this.fileId(data)}`;
  }

  /** `data-out serve` on a folder with containers of the files and their indexes. */
  async serve(...options: readonly string[]): Promise<RunningServe> {
    this.#containers ??= this.#writeContainers();
    await this.#containers;
    return await startServe(['containers', '--key', 'me.sec.pem', ...options], { folder: this.folder });
  }

  async #writeContainers(): Promise<void> {
    const keys = generateKeyPair();
    const containers = join(this.folder, 'containers');
    await mkdir(containers);
    await writeFile(join(this.folder, 'me.sec.pem'), await formatPrivateKey(keys.privateKey), { mode: 0o600 });
    for (const name of this.#fileIds.keys()) {
      const container = await containerOf(await readFile(join(this.folder, name)), keys.publicKey);
      await writeFile(join(containers, `${name}.c4gh`), container);
    }
  }
}
