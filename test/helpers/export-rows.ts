/** A row of `data_out.requests` for a test; times as PostgreSQL reads them. */
export interface RequestRow {
  readonly requestId: string;
  readonly requestedAt?: string;
  readonly archiveKind?: string;
  readonly recipient?: string;
  readonly state?: string;
  readonly reason?: string;
  readonly files?: number;
  /** Absent: the request is not settled. */
  readonly settledAt?: string;
  readonly receipt?: string;
  readonly staged?: number;
  readonly stagedBytes?: number;
}

/** States of the files of a request, in the order of their ids: `{ staged: 2, sent: 1 }`. */
export type FileCounts = Readonly<Record<string, number>>;

/** The id of a request, by its number. */
export function requestIdOf(index: number): string {
  return `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
}

/** The statements that write a request for the dataset `EGAD1` and its files; each staged container has ten bytes. */
export function exportRows(row: RequestRow, files: FileCounts = {}): readonly string[] {
  const text = (value: string | undefined) => (value === undefined ? 'null' : `'${value}'`);
  const { requestId } = row;
  let number = 0;
  const inserts = Object.entries(files).map(([state, count]) => {
    const first = number + 1;
    number += count;
    return `insert into data_out.request_files (request_id, file_id, state, reason, bytes, changed_at)
      select '${requestId}', 'EGAF' || lpad(cast(n as text), 11, '0'), '${state}',
        ${state === 'rejected' || state === 'given_up' ? "'archive_damaged'" : 'null'}, 10, '2026-11-21 10:00:01+00'
      from generate_series(${first}, ${number}) as n`;
  });
  const request = `insert into data_out.requests (request_id, requested_at, archive_kind, kind, dataset_id, recipient,
      key_fingerprint, state, reason, files, settled_at, settled_revision, receipt, staged, staged_bytes)
    values ('${requestId}', '${row.requestedAt ?? '2026-11-21 10:00:00+00'}', '${row.archiveKind ?? 'fega'}', 'dataset',
      'EGAD1', '${row.recipient ?? 'aa'}', 'bb', '${row.state ?? 'accepted'}', ${text(row.reason)}, ${row.files ?? number},
      ${text(row.settledAt)}, ${row.settledAt === undefined ? 0 : 1}, ${text(row.receipt)}, ${row.staged ?? 'null'},
      ${row.stagedBytes ?? 'null'})`;
  return [request, ...inserts];
}
