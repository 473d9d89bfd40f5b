/** What `GET /export/{archive_kind}/{requestId}` answers, with the files that are given. */
export function shownExport(
  more: Readonly<Record<string, unknown>> = {},
  counts: Readonly<Record<string, number>> = {},
) {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return {
    requestId: '00000000-0000-4000-8000-000000000001',
    state: 'staging',
    reason: null,
    kind: 'dataset',
    dataset: 'EGAD1',
    file: null,
    recipient: 'aa',
    keyFingerprint: 'bb',
    requestedAt: '2026-11-21T10:00:00.000Z',
    settledAt: null,
    generation: 1,
    receipt: null,
    counts: {
      ...{ staged: 0, superseded: 0, withdrawn: 0, rejected: 0, pending: 0, given_up: 0 },
      ...counts,
      total,
    },
    bytes: 10 * (counts.staged ?? 0),
    ...more,
  } as const;
}
