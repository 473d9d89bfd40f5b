import { printable } from '../../../terminal/output.ts';
import type { FileResult } from '../../api/download/download-file.ts';
import { ClientError } from '../../api/errors.ts';
import type { Claims } from '../../api/receipts/claims.ts';
import type { Receipt } from '../../api/receipts/combine.ts';

/** What the delivery receipts say of the files of a download. */
export interface DeliverySummary {
  /** Files that match their receipt. */
  readonly verified: number;
  /** Files that no receipt lists. */
  readonly unlisted: number;
  /** Receipts that list a file of the download. */
  readonly receipts: readonly Receipt[];
}

/** The most receipts that the line for people names. */
const shownReceipts = 3;
/** The most files that a warning names. */
const shownFiles = 5;

export function summaryOf(files: readonly FileResult[], claims: Claims): DeliverySummary {
  const used = new Set(files.flatMap(({ name }) => claims.of(name)?.receipt ?? []));
  return {
    verified: files.filter(({ verified }) => verified !== undefined).length,
    unlisted: files.filter(({ name }) => claims.of(name) === undefined).length,
    receipts: claims.receipts.filter((receipt) => used.has(receipt)),
  };
}

/** As `--json` shows it. */
export function summaryRecord({ verified, receipts }: DeliverySummary) {
  const shown = receipts.map(({ jti, generation, complete }) => ({ requestId: jti, generation, complete }));
  return { verified, receipts: shown };
}

/** The end of a line for people: `, 3 verified; receipt 0b5c… (generation 1, complete)`. */
export function summaryText({ verified, unlisted, receipts }: DeliverySummary): string {
  const count = verified === 0 ? ', none verified' : `, ${verified} verified`;
  const named = receipts.slice(0, shownReceipts).map(receiptText);
  const more = receipts.length > shownReceipts ? ` and ${receipts.length - shownReceipts} more` : '';
  const by = named.length > 0 ? `; receipt ${named.join(', ')}${more}` : '';
  return `${count}${by}${unlisted > 0 ? `; ${unlisted} without a receipt` : ''}`;
}

function receiptText({ jti, generation, complete }: Receipt): string {
  return `${jti} (generation ${generation}, ${complete ? 'complete' : 'incomplete'})`;
}

/** The failure of a download whose files are whole, but not verified; `undefined` if every file is verified. */
export function unverifiedError(files: readonly FileResult[], claims: Claims): ClientError | undefined {
  const unverified = files.filter(({ verified }) => verified === undefined);
  const unlisted = unverified.filter(({ name }) => claims.of(name) === undefined);
  const [first] = [...unlisted, ...unverified];
  if (first === undefined) return undefined;
  const more = unverified.length === 1 ? '' : ` and ${unverified.length - 1} more`;
  const why = unlisted.length > 0 ? 'no valid delivery receipt names it' : 'its delivery receipt has no checksum of it';
  return new ClientError('not_verified', `${first.name}${more}: downloaded, but not verified: ${why}`, {
    remedy:
      unlisted.length > 0
        ? 'The receipt of an export comes last: run the same command again once it is listed.'
        : 'data-out verify --key FILE compares the plaintext.',
  });
}

/** The failure of an incomplete delivery. */
export function incompleteError({ jti }: Receipt): ClientError {
  return new ClientError('not_verified', `the delivery of request ${jti} is not complete`, {
    remedy: 'What was delivered has been downloaded. Ask the administrator about the rest.',
  });
}

/** What an incomplete delivery lacks, on one line. */
export function incompleteText({ jti, missing }: Receipt): string {
  const named = missing.slice(0, shownFiles).map(({ file_id, reason }) => `${file_id} (${reason})`);
  const more = missing.length > shownFiles ? ` and ${missing.length - shownFiles} more` : '';
  const count = missing.length === 1 ? '1 file was' : `${missing.length} files were`;
  return printable(
    `the delivery of request ${jti} is not complete: ${count} not delivered: ${named.join(', ')}${more}`,
  );
}
