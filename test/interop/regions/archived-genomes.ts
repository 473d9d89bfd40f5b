import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatPrivateKey, generateKeyPair } from '../../../lib/crypt4gh/index.ts';
import { addFile } from '../../../lib/ops/archive/add-file.ts';
import { readArchiveKeys } from '../../../lib/ops/secrets/archive-keys.ts';
import { localTarget } from '../../../lib/ops/target.ts';
import { containerOf } from '../../helpers/client-world.ts';
import { genomes, makeGenomes } from '../../helpers/genomes.ts';
import { type RunningServe, startServe } from '../../helpers/running-serve.ts';
import { Service } from '../../helpers/service.ts';

/** A service whose released dataset `EGAD1` has the genomes and their indexes. */
export class ArchivedGenomes {
  readonly service: Service;
  /** Of the plain files, as htslib wrote them. */
  readonly folder: string;
  readonly #fileIds: ReadonlyMap<string, string>;

  private constructor(service: Service, folder: string, fileIds: ReadonlyMap<string, string>) {
    this.service = service;
    this.folder = folder;
    this.#fileIds = fileIds;
  }

  /** @param environment of the functions, beside their own */
  static async make(environment: Readonly<Record<string, string>> = {}): Promise<ArchivedGenomes> {
    const folder = await mkdtemp(join(tmpdir(), 'data-out-regions-'));
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
    return new ArchivedGenomes(service, folder, fileIds);
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
    const keys = generateKeyPair();
    const containers = join(this.folder, 'containers');
    await mkdir(containers);
    await writeFile(join(this.folder, 'me.sec.pem'), await formatPrivateKey(keys.privateKey), { mode: 0o600 });
    for (const name of this.#fileIds.keys()) {
      const container = await containerOf(await readFile(join(this.folder, name)), keys.publicKey);
      await writeFile(join(containers, `${name}.c4gh`), container);
    }
    return await startServe(['containers', '--key', 'me.sec.pem', ...options], { folder: this.folder });
  }

  async remove(): Promise<void> {
    await this.service.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}
