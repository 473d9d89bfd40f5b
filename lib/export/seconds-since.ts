/**
 * Seconds from a request until now, to the millisecond. A clock that is behind the proxy's counts as 0.
 *
 * @param requestedAt ISO 8601
 */
export function secondsSince(requestedAt: string, now: Date): number {
  return Math.max(0, now.getTime() - Date.parse(requestedAt)) / 1000;
}
