import { pageSize } from '../stores/rds/columns.ts';

/** Newest event `e` of a dataset first. Ties of one instant are broken by id. */
export const newestEventFirst = 'order by e.event_date desc nulls last, e.id desc';

/** Newest event of the dataset `d`: the state of the dataset. */
export const newestEvent = `(
  select e.event from sda.dataset_event_log e
  where e.dataset_id = d.stable_id
  ${newestEventFirst}
  limit 1)`;

/** Whether ingestion has finished the file `f`: it has a stable id, a header and an archived body. Never null. */
export const isIngested = `(f.stable_id is not null and coalesce(f.header, '') <> '' and coalesce(f.archive_file_path, '') <> '')`;

/** Primary key of the dataset whose stable id is the expression `id`. */
export const datasetNamed = (id: string) => `(select d.id from sda.datasets d where d.stable_id = ${id})`;

/**
 * Table of the next memberships of a dataset: their `file_id`, in its order. The LIMIT comes before any join, so that no plan
 * reads more rows than a page, however the files are spread over datasets. What is not wanted of the page is left out
 * after that: the last row of the page is the position from which the next one begins.
 *
 * @param dataset expression for its primary key
 * @param after expression for the row id of a file
 * @param wanted more conditions on the membership `fd`. Where few memberships meet them, more rows than a page are read
 */
export const nextMembers = (dataset: string, after: string, wanted = '') => `(
  select fd.file_id from sda.file_dataset fd
  where fd.dataset_id = ${dataset} and fd.file_id > ${after} ${wanted}
  order by fd.file_id
  limit ${pageSize})`;
