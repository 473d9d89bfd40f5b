import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { settleRequest } from '../../lib/service/export/settle/settle.ts';
import type { SqlExecutor } from '../../lib/service/stores/rds/data-api.ts';

/**
 * Run as a process: settles a request of so many files, each tenth of which was given up, and writes the receipts into a folder. Prints
 * their names in the order in which they were written, and the peak memory of the process in bytes.
 */
const files = Number(process.argv[2]);
const folder = process.argv[3] ?? '';
const requestId = '11111111-1111-4111-8111-111111111111';
const recipient = 'ab'.repeat(32);
const idOf = (n: number) => `EGAF${String(n).padStart(11, '0')}`;
const digest = (text: string) => createHash('sha256').update(text).digest('hex');

const request = {
  ...{
    request_id: requestId,
    requested_at: '2026-11-21T09:00:00.000Z',
    kind: 'dataset',
    dataset_id: 'EGAD1',
    file_id: null,
  },
  ...{
    recipient,
    key_fingerprint: 'cd'.repeat(32),
    state: 'accepted',
    files,
    revision: 1,
    settled_revision: 0,
    is_open: false,
  },
};

function fileAt(n: number) {
  const file_id = idOf(n);
  const path = `study-of-a-cohort/batch-${n % 1000}/sample_${n}/aligned/sample_${n}.markdup.bam`;
  const common = {
    file_id,
    path,
    plaintext_size: 972 + n,
    plaintext_sha256: digest(`p${n}`),
    superseded_by: null,
    superseder_state: null,
  };
  if (n % 10 === 0) return { ...common, state: 'given_up', reason: 'no_answer', request_id: null };
  return {
    ...{ ...common, state: 'staged', reason: null, request_id: requestId, key_fingerprint: request.key_fingerprint },
    ...{
      outbox_key: `${recipient}/${file_id}-sample_${n}.markdup.bam.c4gh`,
      size: 1124 + n,
      crc64nvme: 'rosUhgp5mIg=',
    },
    header_sha256: digest(`h${n}`),
  };
}

const db: SqlExecutor = {
  query: async (row, sql, parameters = {}) => {
    if (sql.includes('as is_open')) return [row.parse(request)];
    const [, position] = /offset (\d+) limit 1$/.exec(sql) ?? [];
    if (position !== undefined) return [row.parse({ file_id: idOf(Number(position)) })];
    if (!sql.includes('page_rows')) return [row.parse({ request_id: requestId })];
    const from = parameters.after === '' ? 0 : Number(String(parameters.after).slice(4)) + 1;
    const page_rows = Math.min(1000, files - from);
    return Array.from({ length: page_rows }, (_, index) => row.parse({ ...fileAt(from + index), page_rows }));
  },
  execute: async () => {},
};

const written: string[] = [];
const receipts = {
  outbox: {
    head: async () => undefined,
    put: async (key: string, jws: Uint8Array) => {
      const name = key.slice(recipient.length + 1);
      writeFileSync(join(folder, name), jws);
      written.push(name);
      return 'written' as const;
    },
  },
  signer: { identity: async () => ({ kid: 'k' }), sign: async () => Buffer.alloc(64, 1) },
  issuer: 'org.example.data-out',
};
const outcome = await settleRequest(requestId, { db, receipts, now: () => new Date() }, () => 900_000);
process.stdout.write(JSON.stringify({ outcome, written, peak: process.resourceUsage().maxRSS * 1024 }));
