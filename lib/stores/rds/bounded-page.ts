/**
 * Most bytes of a page's texts: a result of the Data API has at most 1 MiB, and a path may have any length. Each row
 * also counts `rowOverhead`, which the Data API writes around its values.
 */
const pageBytes = 500_000;
const rowOverhead = 256;

/**
 * A statement for the first rows of `page`, as many as a result of the Data API holds, and at least one if there is any.
 * @param page an ordered query
 * @param columns.order expression over the page's columns for the same order
 * @param columns.texts expression for all long texts of a row together, never null
 */
export function boundedPage(
  page: string,
  { order, texts }: { readonly order: string; readonly texts: string },
): string {
  return `select *
    from (
      select page.*, row_number() over in_order as position,
        sum(octet_length(${texts}) + ${rowOverhead}) over in_order as page_bytes
      from (${page}) page
      window in_order as (order by ${order})
    ) measured
    where position = 1 or page_bytes <= ${pageBytes}
    order by position`;
}
