import { exportCatalogue } from '../../lib/service/catalogue/export-catalogue.ts';
import type { ConsumeDependencies } from '../../lib/service/export/consume.ts';
import type { ExportEvent } from '../../lib/service/export/ledger-port.ts';
import { noteAttempts } from '../../lib/service/ledger/ledger.ts';
import type { TestDatabase } from './data-api.ts';
import { ExportWorld } from './export-world.ts';
import { rowIdOf } from './fake-catalogue.ts';
import { type WholeLedger, wholeLedger } from './whole-ledger.ts';

/** The row of a request, by the names of the code. */
interface LedgerRow {
  readonly state: string;
  readonly reason: string | null;
  readonly isFannedOut: boolean;
  readonly generation: number;
  readonly settledGeneration: number;
  readonly sentTo: string;
  readonly files: number;
  readonly requestedAt: Date;
  readonly datasetId: string | null;
  readonly recipient: string | null;
}

/** The ports of the export, with the ledger on PostgreSQL. Its methods are ports as the others: named in `calls`, and can fail. */
export class LedgerWorld extends ExportWorld {
  readonly database: TestDatabase;
  readonly #ledger: WholeLedger;

  private constructor(database: TestDatabase) {
    super();
    this.database = database;
    this.#ledger = this.#counted(wholeLedger(database.dataApi(), 10));
    const noting = exportCatalogue(database.dataApi(), noteAttempts);
    this.catalogue.onAttempts = async (attempts) => void (await noting.findReleasedFiles(attempts));
  }

  /** With a ledger that has no rows. */
  static async on(database: TestDatabase): Promise<LedgerWorld> {
    const world = new LedgerWorld(database);
    await world.forget();
    return world;
  }

  /** Delete all rows of the ledger. */
  async forget(): Promise<void> {
    await this.database.deleteFrom('data_out.requests', 'data_out.request_files', 'data_out.export_log');
  }

  override get ledger(): WholeLedger {
    return this.#ledger;
  }

  get consuming(): ConsumeDependencies {
    const { catalogue, fileExports, smallFileExports, ledger, deliveries } = this;
    return {
      ...{ catalogue, fileExports, smallFileExports, ledger, deliveries },
      outbox: { markOpen: () => this.calls.run('outbox.markOpen', () => undefined) },
      rules: { verify: (token) => this.verify(token) },
    };
  }

  async row(requestId: string): Promise<LedgerRow | undefined> {
    const [row] = await this.database.sql(`select json_build_object('state', state, 'reason', reason,
        'isFannedOut', sealed_at is not null, 'generation', generation, 'settledGeneration', settled_generation,
        'sentTo', sent_to, 'files', files, 'requestedAt', extract(epoch from requested_at) * 1000,
        'datasetId', dataset_id, 'recipient', recipient)
      from data_out.requests where request_id = '${requestId}'`);
    if (!row) return undefined;
    const columns = JSON.parse(row[0] ?? '');
    return { ...columns, requestedAt: new Date(columns.requestedAt) };
  }

  /** The row of a file, by its columns. */
  async fileRow(requestId: string, fileId: string): Promise<Readonly<Record<string, unknown>>> {
    const [row] = await this.database.sql(
      `select to_json(f) from data_out.request_files f where request_id = '${requestId}' and file_id = '${fileId}'`,
    );
    return JSON.parse(row?.[0] ?? '{}');
  }

  /** `file id: state` of a request, sorted. */
  async statesOf(requestId: string): Promise<readonly (string | null)[]> {
    const rows = await this.database.sql(
      `select file_id || ': ' || state from data_out.request_files where request_id = '${requestId}' order by file_id`,
    );
    return rows.flat();
  }

  /** The audit trail, oldest first. */
  async audit(): Promise<readonly ExportEvent[]> {
    const rows =
      await this.database.sql(`select json_strip_nulls(json_build_object('requestId', request_id, 'event', event,
        'reason', reason, 'archiveKind', archive_kind, 'datasetId', dataset_id, 'fileId', file_id, 'recipient', recipient,
        'keyFingerprint', key_fingerprint, 'bytes', bytes, 'checksum', checksum))
      from data_out.export_log order by id`);
    return rows.map(([text]) => JSON.parse(text ?? ''));
  }

  /** Its calls take their turn in `calls`. It finds the datasets of the catalogue where it reads them. */
  #counted(ledger: WholeLedger): WholeLedger {
    return new Proxy(ledger, {
      get: (target, name: Extract<keyof WholeLedger, string>) => {
        const method = target[name];
        return (...given: readonly unknown[]) =>
          this.calls.run(callName(name, given), async () => {
            if (name === 'closeUnsent') await this.#fillCatalogue();
            return Reflect.apply(method, target, given);
          });
      },
    });
  }

  async #fillCatalogue(): Promise<void> {
    await this.database.deleteFrom('sda.file_dataset', 'sda.files', 'sda.datasets');
    const members = [...this.catalogue.datasets].flatMap(([dataset, { fileIds }]) =>
      fileIds.map((file) => ({ dataset, file, id: rowIdOf(file) })),
    );
    const given = `jsonb_to_recordset('${JSON.stringify(members)}') as g (dataset text, file text, id uuid)`;
    await this.database.sql(`insert into sda.datasets (id, stable_id)
      select row_number() over (), dataset from (select distinct dataset from ${given}) d`);
    await this.database.sql(`insert into sda.files (id, stable_id, archive_file_path, archive_file_size, header)
      select distinct id, file, 'body', 1, '00' from ${given}`);
    await this.database.sql(`insert into sda.file_dataset (file_id, dataset_id)
      select g.id, d.id from ${given} join sda.datasets d on d.stable_id = g.dataset`);
  }
}

function callName(name: string, [first]: readonly unknown[]): string {
  if (name !== 'record') return `ledger.${name}`;
  return `ledger.record ${(first as readonly { readonly state: string }[]).map(({ state }) => state).join(' ')}`;
}
