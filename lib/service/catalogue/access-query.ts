import * as z from 'zod';
import { smokeIdPrefix } from '../../contract/messages.ts';
import type { RequestedData } from '../archive/ports.ts';
import { camelRow, pageSize } from '../stores/rds/columns.ts';
import { newestEvent } from './datasets.ts';

/** A JSON text: the Data API knows no arrays. */
export const indexes = z
  .string()
  .transform((text) => z.array(z.number().int().nonnegative()).min(1).parse(JSON.parse(text)));

/** One row for each dataset that may be given out; if there is none, one row with nulls. */
export const accessRow = camelRow({
  known: z.boolean(),
  granted: z.boolean(),
  dataset_id: z.string().nullable(),
  named_by: indexes.nullable(),
});

/**
 * Primary key of the dataset that the expression `id` names, null when there is none. Both look-ups always run, so that
 * a known id takes as long as an unknown one.
 *
 * An id of a smoke test is never an alias: the issuer of smoke tests grants every id that begins so, and an alias would lead
 * its visas to any dataset.
 */
export const datasetOrAlias = (id: string) => `(
  select coalesce(max(n.id) filter (where n.own), case when count(distinct n.id) = 1 then max(n.id) end)
  from (
    select d.id, true as own from sda.datasets d where d.stable_id = ${id}
    union all
    select d.id, false from sda.dataset_references r join sda.datasets d on d.id = r.dataset_id
    where r.reference_id = ${id} and (r.expired_at is null or r.expired_at > now()) and d.stable_id is not null
      and not starts_with(${id}, '${smokeIdPrefix}')
  ) n)`;

function candidates(wanted: RequestedData | undefined): string {
  if (!wanted) return 'select g.id from granted g';
  if ('datasetId' in wanted) return `select ${datasetOrAlias(':id')} as id`;
  return `select d.id from sda.files f
    join sda.file_dataset fd on fd.file_id = f.id
    join sda.datasets d on d.id = fd.dataset_id
    where f.stable_id = :id and d.stable_id is not null`;
}

/** Table `granted`: the datasets that the JSON list `:granted` names, whether each is released, and the indexes in the list. */
export const grantedTable = `granted as materialized (
       select d.id, d.stable_id, coalesce(${newestEvent} = 'released', false) as released, named.by as named_by
       from (
         select ${datasetOrAlias('asked.id')} as dataset_id, jsonb_agg(asked.position - 1 order by asked.position) as by
         from jsonb_array_elements_text(cast(:granted as jsonb)) with ordinality as asked (id, position)
         group by 1
       ) named
       join sda.datasets d on d.id = named.dataset_id
     )`;

/**
 * The statement behind `Catalogue.evaluateAccess`; its parameters are `granted`, a JSON list of ids, and, with `wanted`, `id`.
 *
 * Aliases and releases are looked up for every granted id, whatever is wanted: the table `granted` is `materialized`,
 * and an aggregate reads all of it. Only the look-up of `wanted` comes on top.
 */
export function accessQuery(wanted: RequestedData | undefined): string {
  return `with ${grantedTable}, candidate as materialized (
       ${candidates(wanted)}
     ), entitled as (
       select g.stable_id, cast(g.named_by as text) as named_by
       from granted g
       where g.released and g.id in (select c.id from candidate c)
     )
     select counted.known, counted.granted, entitled.stable_id as dataset_id, entitled.named_by
     from (
       select (select count(c.id) > 0 from candidate c) as known, count(c.id) > 0 as granted
       from granted g left join candidate c on c.id = g.id
     ) counted
     left join entitled on true
     order by entitled.stable_id collate "C"
     limit ${pageSize}`;
}
