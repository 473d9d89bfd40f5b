import { printable } from '../../../terminal/output.ts';
import type { FileResult } from '../../api/download/download-file.ts';
import { ClientError } from '../../api/errors.ts';
import type { Claims } from '../../api/receipts/claims.ts';
import type { Receipt } from '../../api/receipts/receipt-files.ts';

/** The most receipts that the line for people names. */
const shownReceipts = 3;
/** The most files that a warning names. */
const shownFiles = 5;

/** The receipts that list a file of a download. */
export function receiptsOf(files: readonly FileResult[], claims: Claims): readonly Receipt[] {
  const used = new Set(files.map(({ name }) => claims.of(name)?.receipt));
  return claims.receipts.filter((receipt) => used.has(receipt));
}

/** What the receipts say of the files, as `--json` shows it. */
export function summaryRecord(files: readonly FileResult[], claims: Claims) {
  const receipts = receiptsOf(files, claims).map(({ jti, generation, complete }) => {
    return { requestId: jti, generation, complete };
  });
  return { verified: files.filter(({ verified }) => verified !== undefined).length, receipts };
}

/** The same as the end of a line for people: `, 3 verified; receipt 0b5c… (generation 1, complete)`. */
export function summaryText(files: readonly FileResult[], claims: Claims): string {
  const { verified, receipts } = summaryRecord(files, claims);
  const unlisted = files.filter(({ name }) => claims.of(name) === undefined).length;
  const named = receipts.slice(0, shownReceipts).map(({ requestId, generation, complete }) => {
    return `${requestId} (generation ${generation}, ${complete ? 'complete' : 'incomplete'})`;
  });
  const more = receipts.length > shownReceipts ? ` and ${receipts.length - shownReceipts} more` : '';
  const by = named.length > 0 ? `; receipt ${named.join(', ')}${more}` : '';
  return `, ${verified || 'none'} verified${by}${unlisted > 0 ? `; ${unlisted} without a receipt` : ''}`;
}

/** The failure of a download whose files are whole, but not verified; `undefined` if every file is verified. */
export function unverifiedError(files: readonly FileResult[], claims: Claims): ClientError | undefined {
  const unverified = files.filter(({ verified }) => verified === undefined);
  const unlisted = unverified.find(({ name }) => claims.of(name) === undefined);
  const first = unlisted ?? unverified[0];
  if (first === undefined) return undefined;
  const more = unverified.length === 1 ? '' : ` and ${unverified.length - 1} more`;
  const [why, remedy] = unlisted
    ? [
        'no valid delivery receipt names it',
        'The receipt of an export comes last, so run the same command again when it is listed. If a warning says that a receipt is for ' +
          'another key, these files are for that key as well.',
      ]
    : ['its delivery receipt has no checksum of it', 'data-out verify --key FILE compares the plaintext.'];
  const what = `${first.name}${more}: downloaded, but not verified: ${why}`;
  return new ClientError('not_verified', what, { remedy });
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
  const what = `the delivery of request ${jti} is not complete: ${count} not delivered`;
  return printable(`${what}: ${named.join(', ')}${more}`);
}
