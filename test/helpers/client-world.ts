import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { encrypt, formatPrivateKey, generateKeyPair } from '../../lib/crypt4gh/index.ts';
import type { EngineOptions } from '../../lib/local/engine.ts';
import { type ClientChoices, type ClientRun, startClient } from './client-process.ts';
import { FaultProxy } from './fault-proxy.ts';
import { installedProgram } from './installed-program.ts';
import { Service } from './service.ts';

/** The local S3 takes little more in one request. */
const partBytes = 8 * 2 ** 20;

/** A researcher with a visa, a key and the client as it is installed; the whole service; and faults between the two. */
export class ClientWorld {
  readonly service: Service;
  readonly keys = generateKeyPair();
  readonly visa: string;
  /** Of everything on this side; folders of tests are in it. */
  readonly root: string;
  readonly subject: string;
  /** The client as it is installed. */
  readonly script: string;
  #folders = 0;

  private constructor(service: Service, root: string, subject: string, visa: string, script: string) {
    this.service = service;
    this.root = root;
    this.subject = subject;
    this.visa = visa;
    this.script = script;
  }

  static async start(options: Partial<EngineOptions> = {}): Promise<ClientWorld> {
    return await ClientWorld.of(await Service.start(options));
  }

  /** The same around a service that runs. */
  static async of(service: Service): Promise<ClientWorld> {
    const root = await mkdtemp(join(tmpdir(), 'data-out-client-'));
    const subject = 'researcher';
    const world = new ClientWorld(service, root, subject, await service.visa({ subject }), await installedProgram());
    await writeFile(world.visaPath, world.visa, { mode: 0o600 });
    await writeFile(world.keyPath, await formatPrivateKey(world.keys.privateKey), { mode: 0o600 });
    return world;
  }

  async stop(): Promise<void> {
    await this.service.stop();
    await rm(this.root, { recursive: true, force: true });
  }

  get visaPath(): string {
    return join(this.root, 'visa.jwt');
  }

  get keyPath(): string {
    return join(this.root, 'key.sec.pem');
  }

  /** A fault proxy in front of the service, for one download at a time. */
  faults(): Promise<FaultProxy> {
    return FaultProxy.start(this.service.connection.proxyUrl);
  }

  /** An empty folder. */
  async folder(name = `folder-${++this.#folders}`): Promise<string> {
    const path = join(this.root, name);
    await mkdir(path);
    return path;
  }

  /** Puts bytes into the outbox, as if they had been staged. */
  async stage(name: string, content: Uint8Array): Promise<void> {
    const object = {
      Bucket: this.service.connection.outputs.OutboxBucketName,
      Key: `${this.service.prefix(this.subject)}/${name}`,
    };
    const s3 = this.service.s3For(object.Key);
    if (content.length <= partBytes) {
      await s3.send(new PutObjectCommand({ ...object, Body: content }));
      return;
    }
    const { UploadId } = await s3.send(new CreateMultipartUploadCommand(object));
    const Parts: { PartNumber: number; ETag: string | undefined }[] = [];
    for (let start = 0; start < content.length; start += partBytes) {
      const part = { ...object, UploadId, PartNumber: Parts.length + 1 };
      const Body = content.subarray(start, start + partBytes);
      const { ETag } = await s3.send(new UploadPartCommand({ ...part, Body }));
      Parts.push({ PartNumber: part.PartNumber, ETag });
    }
    await s3.send(new CompleteMultipartUploadCommand({ ...object, UploadId, MultipartUpload: { Parts } }));
  }

  /** Stages random plaintext of that size as a container for the researcher. */
  async stageContainer(name: string, size: number): Promise<{ plaintext: Buffer; container: Buffer }> {
    const plaintext = randomBytes(size);
    const container = await containerOf(plaintext, this.keys.publicKey);
    await this.stage(name, container);
    return { plaintext, container };
  }

  /** Settings of the researcher, secrets apart from what argv shows. @param url of the delivery API */
  env(url = this.service.connection.proxyUrl): Record<string, string> {
    const { username, password } = this.service.connection.archiveUser;
    return {
      HOME: this.root,
      DATA_OUT_URL: url,
      DATA_OUT_VISA_FILE: this.visaPath,
      DATA_OUT_USERNAME: username,
      DATA_OUT_PASSWORD: password,
    };
  }

  start(argv: readonly string[], choices: Partial<ClientChoices> & { readonly url?: string } = {}) {
    const { url, env, ...rest } = choices;
    return startClient(argv, { script: this.script, ...rest, env: { ...this.env(url), ...env } });
  }

  run(argv: readonly string[], choices: Partial<ClientChoices> & { readonly url?: string } = {}): Promise<ClientRun> {
    return this.start(argv, choices).ended;
  }
}

export async function containerOf(plaintext: Uint8Array, publicKey: Uint8Array): Promise<Buffer> {
  const source = (async function* () {
    yield plaintext;
  })();
  const pieces: Uint8Array[] = [];
  for await (const piece of encrypt(source, { recipients: [publicKey] })) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Names in a folder, sorted. */
export async function namesIn(folder: string): Promise<readonly string[]> {
  return (await readdir(folder)).sort();
}
