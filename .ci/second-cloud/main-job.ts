import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Region } from '../../lib/regions/index.ts';
import type { TestIssuer } from '../../test/helpers/issuer.ts';
import { answers, digest, parsed, within } from '../../test/helpers/region-answers.ts';
import { recordsOf, vector } from '../../test/helpers/region-files.ts';
import { type Checkout, lastLine, objects } from './checkout.ts';
import { interrupted, type Log } from './run-steps.ts';

export const dataset = 'EGAD00000000001';
const bam = 'EGAF00000000001';
/** Of `reads.bam`, with an answer of htslib. */
const region = 'one:1-1000';

/** An archive, its people, and one researcher with the packed client. */
export class MainJob {
  readonly #checkout: Checkout;
  readonly #folder: string;
  readonly #issuer: TestIssuer;
  /** Bytes by file name, without the id in front. */
  readonly #files: Readonly<Record<string, Buffer>> = {
    'large.bin': randomBytes(20_000_000),
    'notes of é.txt': Buffer.from('notes of é\n'),
    'reads.bam': vector('reads.bam'),
    'reads.bam.bai': vector('reads.bam.bai'),
  };

  /** @param folder of the client, its keys, its visa and its deliveries */
  constructor(checkout: Checkout, issuer: TestIssuer, folder: string) {
    this.#checkout = checkout;
    this.#issuer = issuer;
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }

  /** The package of the client, made and installed as its users do. */
  async installClient(log: Log): Promise<string> {
    const { surroundings } = this.#checkout;
    const place = this.#path('client');
    await this.#checkout.node(log, 'bin/build.ts');
    const packed = `npm pack --silent ./dist/package --pack-destination ${this.#folder}`;
    const tarball = this.#path((await log.run(packed.split(' '), surroundings)).trim());
    mkdirSync(place);
    await log.run(`npm install --silent --offline --prefix ${place} ${tarball}`.split(' '), surroundings);
    return (await this.client(log, '--version')).trim();
  }

  /** The client, in the working folder. @param command its arguments, without spaces in any of them */
  async client(log: Log, command: string): Promise<string> {
    const { ProxyUrl: DATA_OUT_URL } = await this.#checkout.cloud.outputs();
    const login = { DATA_OUT_USERNAME: 'central', DATA_OUT_PASSWORD_FILE: 'user.password' };
    const own = { HOME: this.#folder, DATA_OUT_URL, DATA_OUT_VISA_FILE: 'visa.jwt', ...login };
    const surroundings = { cwd: this.#folder, env: { ...this.#checkout.surroundings.env, ...own } };
    return await log.run(['client/node_modules/.bin/data-out', ...command.split(' ')], surroundings);
  }

  async makePeople(log: Log): Promise<string> {
    await this.#checkout.ops(log, 'archive-key add --generate');
    for (const [kind, name] of Object.entries({ admin: 'alice', user: 'central' })) {
      const [added] = await this.#checkout.ops<{ password: string }>(log, `${kind} add ${name} --generate`);
      writeFileSync(this.#path(`${kind}.password`), added?.password ?? '', { mode: 0o600 });
    }
    writeFileSync(this.#path('visa.jwt'), await this.visa());
    await this.client(log, 'keys generate me --no-passphrase');
    return 'alice and central';
  }

  async fillArchive(log: Log): Promise<string> {
    const study = this.#path('study');
    mkdirSync(study);
    for (const [name, bytes] of Object.entries(this.#files)) writeFileSync(join(study, name), bytes);
    await this.#checkout.ops(log, `archive add ${study}/reads.bam --dataset ${dataset} --file-id ${bam}`);
    await this.#checkout.ops(log, `archive add ${study} --dataset ${dataset}`);
    await this.#checkout.ops(log, `dataset release ${dataset}`);
    return `${this.fileCount} files`;
  }

  visa(sub = 'researcher'): Promise<string> {
    return this.#issuer.visa({ sub, dataset });
  }

  async export(log: Log): Promise<string> {
    const given = '--visa visa.jwt --public-key me.pub.pem --username alice --password-file admin.password';
    return lastLine(await this.client(log, `admin export ${dataset} ${given} --wait`));
  }

  async download(log: Log): Promise<string> {
    await this.client(log, 'download --all -o delivery');
    await this.client(log, 'decrypt delivery --key me.sec.pem');
    const listed = objects<{ readonly name: string; readonly path: string }>(await this.client(log, 'list --json'));
    for (const [name, bytes] of Object.entries(this.#files)) {
      const { name: container = '' } = listed.find(({ path }) => path === name) ?? {};
      same(readFileSync(this.#path(`delivery/${container.replace(/\.c4gh$/, '')}`)), bytes, name);
    }
    return `${listed.length} containers decrypt to what was archived`;
  }

  /** The datasets of the visa, a range, and DRS from the object to the bytes. */
  async directAccess(): Promise<string> {
    const { 'reads.bam': bytes = Buffer.alloc(0) } = this.#files;
    equal(await this.direct('metadata/datasets').then((reply) => reply.json()), [dataset], 'datasets of the visa');
    const range = await this.range(100, 299);
    equal(range.status, 206, 'status of a range');
    same(await bytesOf(range), bytes.subarray(100, 300), 'a range');
    const drs = `ga4gh/drs/v1/objects/${bam}`;
    const object = (await (await this.direct(drs)).json()) as { size: number; checksums: unknown };
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    equal([object.size, object.checksums], [bytes.length, [{ type: 'sha-256', checksum: sha256 }]], 'DRS object');
    const access = (await (await this.direct(`${drs}/access/plaintext`)).json()) as { url: string; headers: string[] };
    const [, authorization = ''] = /^Authorization: (.*)$/.exec(access.headers[0] ?? '') ?? [];
    same(await bytesOf(await request(access.url, { headers: { Authorization: authorization } })), bytes, 'DRS access');
    return `a range of 200 bytes, and ${bytes.length} bytes by DRS`;
  }

  /** A region, joined as clients of htsget do. */
  async htsget(): Promise<string> {
    const [{ referenceName, start, end }] = parsed(region) as [Region];
    const query = new URLSearchParams({ referenceName, start: String(start), end: String(end) });
    const reply = await this.direct(`htsget/reads/${bam}?${query}`);
    const { htsget } = (await reply.json()) as { htsget: { urls: readonly { url: string; headers?: object }[] } };
    const parts: Buffer[] = [];
    for (const { url, headers = {} } of htsget.urls)
      parts.push(await bytesOf(await request(url, { headers: { ...headers } })));
    const names = within(recordsOf('BAM', Buffer.concat(parts)), parsed(region));
    equal(digest(names), answers['reads.bam']?.[region], `records of ${region}`);
    return `${names.length} records of ${region}`;
  }

  get fileCount(): number {
    return Object.keys(this.#files).length;
  }

  /** A range of `reads.bam` in plaintext. */
  range(first: number, last: number): Promise<Response> {
    return this.direct(`files/${bam}`, { Range: `bytes=${first}-${last}` });
  }

  /** A request of the data-out API, with the researcher's visa. */
  async direct(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    const { DataOutUrl } = await this.#checkout.cloud.outputs();
    const Authorization = `Bearer ${await this.visa()}`;
    return await request(`${DataOutUrl}/${path}`, { headers: { ...headers, Authorization } });
  }

  /** A request for the outbox of a researcher. */
  async outbox(path: string, subject?: string): Promise<Response> {
    const { ProxyUrl } = await this.#checkout.cloud.outputs();
    const headers = { 'X-GA4GH-Visa': await this.visa(subject), Authorization: this.#basic('user', 'central') };
    return await request(`${ProxyUrl}/${path}`, { headers });
  }

  /** Names of the containers in an outbox, with the reply that had them. */
  async containers(subject?: string): Promise<{ readonly reply: Response; readonly names: readonly string[] }> {
    const reply = await this.outbox('files?inbox=false', subject);
    const { files = [] } = (reply.ok ? await reply.json() : {}) as { files?: readonly { fileName: string }[] };
    // The base of an upgrade may also list receipts.
    return { reply, names: files.map(({ fileName }) => fileName).filter((name) => name.endsWith('.c4gh')) };
  }

  /** An order of the whole dataset for a researcher, and its id. */
  async order(subject: string): Promise<{ readonly reply: Response; readonly requestId: string | undefined }> {
    const userPublicKey = readFileSync(this.#path('me.pub.pem'), 'utf8');
    const body = JSON.stringify({ id: dataset, visaToken: await this.visa(subject), userPublicKey });
    const reply = await this.#administrator('export/fega', { method: 'POST', body });
    const { requestId } = (reply.ok ? await reply.json() : {}) as { requestId?: string };
    return { reply, requestId };
  }

  /** Waits until an order is complete. @throws Error after two minutes */
  async completed(requestId: string | undefined): Promise<void> {
    for (let tries = 0; ; tries += 1) {
      const reply = await this.#administrator(`export/fega/${requestId}`);
      const { state } = (await reply.json()) as { readonly state?: string };
      if (state === 'complete') return;
      if (tries === 120) throw new Error(`the order ${requestId} is ${state ?? reply.status}`);
      await pause(1000, undefined, { signal: interrupted });
    }
  }

  async exportByRoute(): Promise<string> {
    const { requestId } = await this.order('researcher');
    await this.completed(requestId);
    return `${requestId} is complete`;
  }

  /** Seconds that a presigned URL lives. */
  async secondsOfUrl(): Promise<number> {
    const { names } = await this.containers();
    const reply = await this.outbox(`stream/${names[0]}?redirect=false`);
    const { expiresAt } = (await reply.json()) as { readonly expiresAt: string };
    return Math.round((Date.parse(expiresAt) - Date.now()) / 1000);
  }

  async #administrator(path: string, init: RequestInit = {}): Promise<Response> {
    const { ProxyUrl } = await this.#checkout.cloud.outputs();
    const headers = { 'Content-Type': 'application/json', Authorization: this.#basic('admin', 'alice') };
    return await request(`${ProxyUrl}/${path}`, { ...init, headers });
  }

  #basic(kind: string, name: string): string {
    return `Basic ${Buffer.from(`${name}:${readFileSync(this.#path(`${kind}.password`), 'utf8')}`).toString('base64')}`;
  }
}

/** `fetch` that Ctrl-C ends. */
function request(url: string, init: RequestInit = {}): Promise<Response> {
  return fetch(url, { ...init, signal: interrupted });
}

async function bytesOf(reply: Response): Promise<Buffer> {
  return Buffer.from(await reply.arrayBuffer());
}

function same(found: Uint8Array, expected: Uint8Array, what: string): void {
  if (!Buffer.from(found).equals(expected))
    throw new Error(`${what}: the archive has other bytes than these ${found.length}`);
}

function equal(found: unknown, expected: unknown, what: string): void {
  const [one, other] = [JSON.stringify(found), JSON.stringify(expected)];
  if (one !== other) throw new Error(`${what}: expected ${other}, got ${one}`);
}
