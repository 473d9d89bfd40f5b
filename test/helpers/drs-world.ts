import { encryptHeader } from '../../lib/crypt4gh/index.ts';
import type { DrsAccess, DrsEndpoint } from '../../lib/service/direct/drs.ts';
import type { FileFacts } from '../../lib/service/direct/ports.ts';
import { ExportWorld, vector, vectorKey } from './export-world.ts';
import { makeTestIssuer, rulesOf, type TestIssuer } from './issuer.ts';

/** Catalogue, archive and issuers for DRS, in memory: EGAF1 in the released dataset EGAD1. */
export class DrsWorld {
  readonly ports = new ExportWorld();
  readonly issuer: TestIssuer;
  readonly served: DrsAccess[] = [];
  facts: FileFacts = {
    decryptedFileSize: undefined,
    createdAt: new Date('2026-01-02T03:04:05Z'),
    plaintextChecksums: [],
  };

  private constructor(issuer: TestIssuer) {
    this.issuer = issuer;
  }

  static async make(): Promise<DrsWorld> {
    const world = new DrsWorld(await makeTestIssuer());
    world.ports.addFile('EGAF1', vector('split/body.bin'), 'study/räw data.bam.c4gh');
    world.ports.catalogue.addDataset('EGAD1', { released: true, aliases: ['doi:1'], fileIds: ['EGAF1'] });
    return world;
  }

  /** Give the file another stored header. */
  writeHeader(recipients: readonly string[], editList?: readonly bigint[]): void {
    const [[id, file] = []] = this.ports.catalogue.files;
    if (!id || !file) throw new Error('no file');
    const header = encryptHeader({
      dataKeys: [Buffer.alloc(32, 1)],
      editList,
      recipients: recipients.map((name) => vectorKey(name).publicKey),
    });
    this.ports.catalogue.files.set(id, { ...file, header });
  }

  get endpoint(): DrsEndpoint {
    const { catalogue } = this.ports;
    return {
      rules: rulesOf(this.issuer, () => new Date('2026-06-01')),
      catalogue: {
        evaluateAccess: (granted, wanted) => catalogue.evaluateAccess(granted, wanted),
        findReleasedFile: (reference) => catalogue.findReleasedFile(reference),
        factsOf: async (id) => (catalogue.files.has(id) ? this.facts : undefined),
      },
      served: (access) => this.served.push(access),
    };
  }
}
