/**
 * Begins the ids of datasets and files of a smoke test, and the keys of their archived bodies. A smoke test deletes what
 * earlier ones left under it, so nothing else may begin so.
 */
export const smokeIdPrefix = 'SMOKE-';
