/** Newest event `e` of a dataset first. Ties of one instant are broken by id. */
export const newestEventFirst = 'order by e.event_date desc nulls last, e.id desc';

/** Newest event of the dataset `d`: the state of the dataset. */
export const newestEvent = `(
  select e.event from sda.dataset_event_log e
  where e.dataset_id = d.stable_id
  ${newestEventFirst}
  limit 1)`;
