import { createHash } from 'node:crypto';
import * as z from 'zod';
import { type DataOutError, isDamage } from '../../errors.ts';
import {
  headerBytes,
  headerColumns,
  headerRow,
  headerSlice,
  sliceRow,
  wholeHeader,
} from '../../service/catalogue/stored-header.ts';
import { boundedPage, camelRow, count, nilUuid, optional, pageSize } from '../../service/stores/rds/columns.ts';
import type { SqlExecutor } from '../../service/stores/rds/data-api.ts';
import { pages } from './pages.ts';

/** The header of an archived file. */
export interface StoredHeader {
  /** Stable id, `EGAF…`; the UUID of the row for a file that ingestion has not named yet. */
  readonly fileId: string;
  /** UUID of the row. */
  readonly rowId: string;
  /** The whole Crypt4GH header. */
  readonly header: Uint8Array;
  /** Identifies this state of the column. */
  readonly digest: string;
}

/** A stored header that is too long, is not hexadecimal, or changed while it was read. */
export interface DamagedHeader {
  /** As {@link StoredHeader.fileId}. */
  readonly fileId: string;
  readonly damage: DataOutError;
}

const storedRow = headerRow.extend({ id: z.string(), stable_id: z.string().nullable() });
/** How many files have a header for one key. */
const keyUse = camelRow({
  /** Lower-case `sda.files.key_hash`; `undefined`: the catalogue does not say which key. */
  key_hash: optional(z.string()),
  files: count,
});

/** Of a file, in lower case; empty: the catalogue does not say. */
const keyHash = "lower(coalesce(f.key_hash, ''))";

/** The stored headers of all files, for a change of the archive's key. Files that ingestion has not finished are among them. */
export class RdsArchiveHeaders {
  readonly #db: SqlExecutor;

  constructor(db: SqlExecutor) {
    this.#db = db;
  }

  /** For which keys the files have their headers. */
  keyUses() {
    return this.#db.query(
      keyUse,
      `select nullif(${keyHash}, '') as key_hash, count(*) as files from sda.files f where f.header <> ''
       group by 1 order by 1 nulls first`,
    );
  }

  /** All headers, page after page, but those for the keys `except`. @param except lower-case key hashes */
  async *stored(except: readonly string[] = []): AsyncGenerator<StoredHeader | DamagedHeader> {
    const read = (after: string) =>
      this.#db.query(
        storedRow,
        boundedPage(
          `select cast(f.id as text) as id, f.stable_id, ${headerColumns}
           from (
             select f.id, f.stable_id,
               case when ${keyHash} not in (select jsonb_array_elements_text(cast(:except as jsonb))) then f.header end as header
             from (select * from sda.files f where f.id > cast(:after as uuid) order by f.id limit ${pageSize}) f
           ) f`,
          { order: 'cast(id as uuid)', texts: "coalesce(header, '')" },
        ),
        { after, except: { json: except } },
      );
    for await (const row of pages(nilUuid, read, ({ id }) => id)) {
      // Without a header, or for one of the keys `except`.
      if (!row.header) continue;
      const fileId = row.stable_id ?? row.id;
      yield await this.#whole(row, fileId).catch((damage: unknown) => {
        if (isDamage(damage)) return { fileId, damage };
        throw damage;
      });
    }
  }

  /**
   * Put another header in the place of the stored one, unless the column has changed since it was read. The same replacement
   * again changes nothing.
   * @returns whether the file has the new header
   */
  async replace({ rowId, digest }: StoredHeader, header: Uint8Array, newKeyHash: string): Promise<boolean> {
    const replaced = await this.#db.query(
      z.object({ id: z.string() }),
      `with file as (
         update sda.files f set header = :header, key_hash = :key_hash
         where f.id = cast(:id as uuid)
           and (encode(sha256(convert_to(f.header, 'UTF8')), 'hex') = :digest or f.header = :header)
         returning cast(f.id as text) as id
       ), key as (
         insert into sda.encryption_keys (key_hash, description) select :key_hash, 'archive key' from file
         on conflict (key_hash) do nothing
       )
       select id from file`,
      { id: rowId, digest, header: Buffer.from(header).toString('hex'), key_hash: newKeyHash },
    );
    return replaced.length > 0;
  }

  async #whole(row: z.infer<typeof storedRow>, fileId: string): Promise<StoredHeader> {
    const hex = await wholeHeader(fileId, row, async (start) => {
      const [slice] = await this.#db.query(
        sliceRow,
        `select substring(f.header from cast(:start as integer) for ${headerSlice}) as header from sda.files f
         where f.id = cast(:id as uuid)`,
        { start, id: row.id },
      );
      return slice?.header ?? '';
    });
    const digest = createHash('sha256').update(hex).digest('hex');
    return { fileId, rowId: row.id, header: headerBytes(hex, fileId), digest };
  }
}
