import * as z from 'zod';
import type { Catalogue } from '../archive/ports.ts';
import type { NamedFile, RegionCatalogue } from '../direct/htsget/ports.ts';
import type { SqlExecutor } from '../stores/rds/data-api.ts';
import { datasetOrAlias, grantedTable, indexes } from './access-query.ts';
import { archivedColumns, archivedFile, rdsCatalogue } from './catalogue.ts';
import { isIngested } from './datasets.ts';

const foundRow = z.looseObject({
  role: z.enum(['data', 'index']),
  stable_id: z.string(),
  dataset: z.string(),
  named_by: indexes,
});

function candidates(wanted: NamedFile): string {
  const membership =
    'select f.id as file_id, fd.dataset_id from sda.files f join sda.file_dataset fd on fd.file_id = f.id';
  if ('fileId' in wanted) return `${membership} where f.stable_id = :id`;
  return `${membership} where f.submission_file_path = :path and fd.dataset_id = ${datasetOrAlias(':id')}`;
}

/**
 * The first entitled dataset that holds the file, and the file of that dataset under the first of the index names. Every name
 * is found by its index over paths, so the size of a dataset does not matter. One path may belong to several files of a
 * dataset; then the first by its stable id is taken.
 */
const indexedFile = (wanted: NamedFile) => `with ${grantedTable}, candidate as materialized (
       ${candidates(wanted)}
     ), data as materialized (
       select f.id, c.dataset_id, g.stable_id as dataset, cast(g.named_by as text) as named_by, f.submission_file_path as path
       from candidate c
       join granted g on g.id = c.dataset_id
       join sda.files f on f.id = c.file_id
       where g.released and ${isIngested}
       order by g.stable_id collate "C", f.stable_id collate "C"
       limit 1
     ), named as materialized (
       select n.position, left(data.path, length(data.path) - n.drop) || n.add as path
       from data
       join jsonb_to_recordset(cast(:names as jsonb)) as n (position integer, ending text, drop integer, add text)
         on lower(right(data.path, length(n.ending))) = n.ending
     ), index as materialized (
       select f.id
       from data
       cross join named
       join sda.files f on f.submission_file_path = named.path
       join sda.file_dataset fd on fd.file_id = f.id and fd.dataset_id = data.dataset_id
       where ${isIngested}
       order by named.position, f.stable_id collate "C"
       limit 1
     )
     select found.role, f.stable_id, data.dataset, data.named_by, ${archivedColumns}
     from (select 'data' as role, data.id from data union all select 'index', index.id from index) found
     cross join data
     join sda.files f on f.id = found.id`;

/** The query of htsget on the catalogue. */
export function regionCatalogue(db: SqlExecutor): RegionCatalogue & Catalogue {
  return {
    ...rdsCatalogue(db),

    async findIndexedFile(granted, wanted, indexNames) {
      const rows = await db.query(foundRow, indexedFile(wanted), {
        granted: { json: granted },
        names: { json: indexNames.map((name, position) => ({ position, ...name })) },
        ...('fileId' in wanted ? { id: wanted.fileId } : { id: wanted.datasetId, path: wanted.path }),
      });
      const row = (role: 'data' | 'index') => rows.find((one) => one.role === role);
      const [data, index] = [row('data'), row('index')];
      if (!data) return undefined;
      const datasetId = data.dataset;
      return {
        data: await archivedFile(db, { fileId: data.stable_id, datasetId }, data),
        index: index && (await archivedFile(db, { fileId: index.stable_id, datasetId }, index)),
        namedBy: data.named_by,
      };
    },
  };
}
