import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:tls';
import { parsePublicKey } from '../../lib/crypt4gh/index.ts';
import { listen } from '../../lib/local/http.ts';
import { copyWithSettings } from './assembly-with-settings.ts';
import { builtPackage } from './built-package.ts';
import { FaultProxy } from './fault-proxy.ts';
import { installedProgram, startOf } from './installed-program.ts';
import type { LoginProvider } from './login-provider.ts';
import { Service, type VisaChoices } from './service.ts';
import { mountSmallDisk, type SmallDisk } from './small-disk.ts';
import { shellWord } from './terminal-process.ts';
import { testCertificate } from './test-certificate.ts';
import { Walk } from './walk.ts';

export const dataset = 'EGAD00000000001';
/** Of the researcher's private key. */
export const passphrase = 'correct horse battery';

/** The files of the dataset, and the names of the plaintexts after a download. */
export const files = [
  { path: 'sample.bam', size: 200_000, fileId: 'EGAF00000000001', saved: 'EGAF00000000001-sample.bam' },
  { path: 'patient 1 🧬.vcf', size: 6000, fileId: 'EGAF00000000002', saved: 'EGAF00000000002-patient_1__.vcf' },
  { path: 'genome.bam', size: 12_000_000, fileId: 'EGAF00000000003', saved: 'EGAF00000000003-genome.bam' },
] as const;

/** The address on the page. */
const address = 'https://data-out.example.org/v1/';

/** A researcher at an empty machine, and the archive that has approved a dataset for her, reached by TLS. */
export class ResearcherWorld {
  readonly service: Service;
  readonly faults: FaultProxy;
  readonly walk: Walk;
  readonly password = 'violet-harbour-41';
  /** What the researcher answers to the questions of `setup`, for a new key. */
  readonly setUpAnswers = [
    ['Address', address],
    ['User name', 'jane'],
    ['Password', this.password],
    ['File with your private key', ''],
    ['Name of the new key', ''],
    ['New passphrase', passphrase],
    ['again', passphrase],
  ] as const;
  readonly #folder: string;
  readonly #tls: TlsServer;
  #disk: SmallDisk | undefined;

  private constructor(service: Service, faults: FaultProxy, walk: Walk, folder: string, tls: TlsServer) {
    this.service = service;
    this.faults = faults;
    this.walk = walk;
    this.#folder = folder;
    this.#tls = tls;
  }

  /** @param provider where she signs in; default: she has a visa file */
  static async start(provider?: LoginProvider): Promise<ResearcherWorld> {
    const folder = await mkdtemp(join(tmpdir(), 'data-out-researcher-'));
    const assemblyDir = join(folder, 'assembly');
    if (provider) await copyWithSettings(assemblyDir, { login: provider.login });
    const service = await Service.start(provider && { assemblyDir });
    const faults = await FaultProxy.start(service.connection.proxyUrl);
    const { port: faultsPort, pathname, host } = new URL(faults.url);
    const tls = createTlsServer(testCertificate, (socket) => {
      const behind = connect(Number(faultsPort), '127.0.0.1');
      socket.pipe(behind).pipe(socket);
      socket.on('error', () => behind.destroy());
      behind.on('error', () => socket.destroy());
    });
    const port = await listen(tls, [0]);
    await writeFile(join(folder, 'ca.pem'), testCertificate.cert);
    const walk = await Walk.start({
      programs: {},
      tools: ['chmod', 'install', 'mkdir', 'mv', 'node', 'npm', 'rm', 'sha256sum'],
      stands: {
        [address]: `https://localhost:${port}${pathname}/`,
        [new URL('/', address).href]: `https://localhost:${port}/`,
      },
      shows: {
        // The certificate of tests.
        'for service.test, localhost, 127.0.0.1, by service.test': `for ${new URL(address).host}, by Example Authority`,
        [`localhost:${port}`]: new URL(address).host,
        [host]: new URL(address).host,
        [service.connection.issuer.iss]: 'https://visas.example.org/',
        ...(provider && { [provider.issuer]: 'https://login.example.org' }),
      },
      env: { NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') },
    });
    const world = new ResearcherWorld(service, faults, walk, folder, tls);
    await service.addArchiveUser('jane', world.password);
    for (const { path, size, fileId } of files) await service.archive(dataset, path, size, fileId);
    await service.setDataset(dataset, 'released');
    return world;
  }

  async stop(): Promise<void> {
    this.#disk?.unmount();
    await this.walk.remove();
    this.#tls.close();
    await this.faults.stop();
    await this.service.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** A visa for sixty days. */
  visa(choices: VisaChoices = {}): Promise<string> {
    const exp = Math.floor(Date.now() / 1000) + 60 * 86_400;
    return this.service.visa({ subject: 'jane@example.org', datasetId: dataset, claims: { exp }, ...choices });
  }

  /** The program that the researcher gets, as one file: the executable, or what starts the same client. */
  async executable(): Promise<Uint8Array> {
    const { command } = startOf(await installedProgram());
    const [file = ''] = command;
    if (command.length === 1) return await readFile(file);
    return Buffer.from(`#!/bin/sh\nexec ${command.map(shellWord).join(' ')} "$@"\n`);
  }

  /** Puts the npm package into a folder. @returns the environment in which npm installs it for this user, without a network */
  async pack(folder: string): Promise<Record<string, string>> {
    const npm = ['--silent', '--offline', '--cache', join(this.#folder, 'cache')];
    execFileSync('npm', ['pack', await builtPackage(), '--pack-destination', folder, ...npm], { stdio: 'pipe' });
    const prefix = join(this.#folder, 'prefix');
    return {
      npm_config_prefix: prefix,
      npm_config_offline: 'true',
      npm_config_cache: join(this.#folder, 'cache'),
      PATH: `${join(prefix, 'bin')}:${this.walk.path('../bin')}`,
    };
  }

  /** A disk of 8 MiB at `/home/jane/small`. @returns whether this user may mount one */
  smallDisk(): boolean {
    this.#disk = mountSmallDisk(this.walk.path('small'), '8m');
    return this.#disk !== undefined;
  }

  /** An administrator exports the dataset to the researcher's key, and the files are staged. @param visa default: {@link visa} */
  async export(publicKeyPath: string, visa?: string): Promise<void> {
    const publicKey = parsePublicKey(await readFile(publicKeyPath));
    const id = await this.service.exported({ id: dataset, visa: visa ?? (await this.visa()), publicKey });
    await this.service.settled(id, files.length);
  }
}
