/** Whether long tests are whole, as in `npm run test:resilience -- --project properties`. */
export const everyRun = process.env.ALL_RUNS === '1' || process.env.SLOW === '1';

/** Runs of a property: an eighth before a change lands, all each night, and 25 times as many with `SLOW=1`. */
export function runs(whole: number): number {
  if (process.env.SLOW === '1') return 25 * whole;
  return everyRun ? whole : Math.ceil(whole / 8);
}
