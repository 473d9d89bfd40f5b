import { generateKeyPair } from '../../lib/crypt4gh/index.ts';
import type { AddedFile } from '../../lib/ops/archive/add-file.ts';
import type { Service } from '../../test/helpers/service.ts';
import { peakMemory, processorTime } from '../worker-memory.ts';
import type { Client, Transfer } from './client.ts';
import type { Fetch } from './client-process.ts';

const datasetId = 'EGAD1';

/** What every part of the suite uses: the service, a client and a visa. */
export class Stage {
  readonly service: Service;
  readonly client: Client;
  readonly #visa: string;

  private constructor(service: Service, client: Client, visa: string) {
    this.service = service;
    this.client = client;
    this.#visa = visa;
  }

  static async set(service: Service, client: Client): Promise<Stage> {
    return new Stage(service, client, await service.visa({ datasetId, subject: 'bench' }));
  }

  /** Files of these sizes, in a released dataset. */
  async archive(sizes: readonly number[]): Promise<readonly AddedFile[]> {
    const files: AddedFile[] = [];
    for (const size of sizes) files.push(await this.service.archive(datasetId, `made-${size}.bin`, size));
    await this.service.setDataset(datasetId, 'released');
    return files;
  }

  /** A request for a file. @param query with its question mark */
  file({ fileId }: AddedFile, query = '', headers: Readonly<Record<string, string>> = {}): Fetch {
    return this.#request(`files/${fileId}${query}`, headers);
  }

  /** The same for a container, for a new key. */
  container(file: AddedFile): Fetch {
    const publicKey = Buffer.from(generateKeyPair().publicKey).toString('base64');
    return this.file(file, '?destinationFormat=CRYPT4GH', { 'Public-Key': publicKey });
  }

  /** A request for the archived body at S3 itself, past this service. */
  async raw({ fileId }: AddedFile): Promise<Fetch> {
    const { url, headers } = this.#request(`files/${fileId}/content`, {});
    const reply = await fetch(url, { headers, redirect: 'manual' });
    const location = reply.headers.get('location');
    if (reply.status !== 307 || !location) throw new Error(`content answered ${reply.status}: ${await reply.text()}`);
    return { url: location, headers: {} };
  }

  listing(dataset: string, visa: string): Fetch {
    return { ...this.#request(`metadata/datasets/${dataset}/files`, {}), headers: { Authorization: `Bearer ${visa}` } };
  }

  /** Peak memory of a process of the function so far, in bytes. `undefined` on a system that does not report it. */
  peakMemory(functionName: string): number | undefined {
    return peakMemory(this.#lambdaName(functionName));
  }

  /** Run a job and measure the function's processor time: seconds, `undefined` on a system that does not report it. */
  async measured(
    job: readonly Fetch[],
    functionName: string,
  ): Promise<Transfer & { readonly cpu: number | undefined }> {
    const name = this.#lambdaName(functionName);
    const before = processorTime(name);
    const transfer = await this.client.run(job);
    const after = processorTime(name);
    return { ...transfer, cpu: before === undefined || after === undefined ? undefined : after - before };
  }

  #request(path: string, headers: Readonly<Record<string, string>>): Fetch {
    const base = this.service.connection.dataOutUrl.replace(/\/$/, '');
    return { url: `${base}/${path}`, headers: { Authorization: `Bearer ${this.#visa}`, ...headers } };
  }

  #lambdaName(functionName: string): string {
    return this.service.engine.functions.definition(functionName).environment.AWS_LAMBDA_FUNCTION_NAME ?? '';
  }
}
