import { buffer } from 'node:stream/consumers';
import { bytesOf } from '../helpers/made-files.ts';
import type { Service } from '../helpers/service.ts';

/** A file of the archive that exports are made of. */
export interface SoakFile {
  readonly fileId: string;
  /** Name of its container in an outbox. */
  readonly container: string;
  readonly content: Content;
}

interface Content {
  readonly plaintext: Buffer;
  /** The body in the archive. */
  readonly body: Buffer;
}

/** Around a segment of Crypt4GH, and mostly small. */
const smallSizes = [0, 1, 700, 2_000, 2_001, 65_536, 65_537] as const;
/** Its body is copied by S3, in parts. */
const largeSize = 9_000_000;
/** One file in so many is large. */
const largeEvery = 400;

const templateOf = (size: number) => `EGAF1${String(size).padStart(10, '0')}`;

/** Makes datasets of many files. Files share bodies, so that they can be made by a query. */
export class SoakArchive {
  readonly #service: Service;
  readonly #contents: ReadonlyMap<number, Content>;
  #made = 0;

  private constructor(service: Service, contents: ReadonlyMap<number, Content>) {
    this.#service = service;
    this.#contents = contents;
  }

  static async fill(service: Service): Promise<SoakArchive> {
    const contents = new Map<number, Content>();
    for (const size of [...smallSizes, largeSize]) {
      const path = `templates/${size}.bin`;
      await service.archive('EGADTEMPLATES', path, size, templateOf(size));
      const [[key] = []] = await service.sql(
        `select archive_file_path from sda.files where stable_id = '${templateOf(size)}'`,
      );
      const plaintext = await buffer(bytesOf({ path, size }));
      contents.set(size, { plaintext, body: await service.object('ArchiveBucketName', key ?? '') });
    }
    return new SoakArchive(service, contents);
  }

  /** A released dataset of so many files. @param withLarge whether some have bodies over 8 MiB */
  async dataset(datasetId: string, count: number, withLarge: boolean): Promise<readonly SoakFile[]> {
    const made = Array.from({ length: count }, (_, index) => {
      this.#made += 1;
      const fileId = `EGAF2${String(this.#made).padStart(10, '0')}`;
      const isLarge = withLarge && index % largeEvery === 1;
      const size = isLarge ? largeSize : (smallSizes[index % smallSizes.length] ?? 0);
      return { fileId, size };
    });
    for (let at = 0; at < made.length; at += 1_000) {
      const values = made.slice(at, at + 1_000).map(({ fileId, size }) => `('${fileId}', '${templateOf(size)}')`);
      await this.#service.sql(
        `insert into sda.files (stable_id, submission_file_path, submission_file_size, archive_file_path,
           archive_location, archive_file_size, decrypted_file_size, header, encryption_method, key_hash)
         select made.id, t.submission_file_path, t.submission_file_size, t.archive_file_path, t.archive_location,
           t.archive_file_size, t.decrypted_file_size, t.header, t.encryption_method, t.key_hash
         from (values ${values.join(', ')}) as made (id, template)
         join sda.files t on t.stable_id = made.template`,
      );
    }
    const [first, last] = [made[0]?.fileId, made.at(-1)?.fileId];
    await this.#service.sql(`insert into sda.datasets (stable_id) values ('${datasetId}')`);
    await this.#service.sql(
      `insert into sda.file_dataset (file_id, dataset_id)
       select f.id, d.id from sda.files f, sda.datasets d
       where f.stable_id between '${first}' and '${last}' and d.stable_id = '${datasetId}'`,
    );
    await this.#service.setDataset(datasetId, 'released');
    return made.map(({ fileId, size }) => ({
      fileId,
      container: `${fileId}-${size}.bin.c4gh`,
      content: this.#contents.get(size)!,
    }));
  }
}
