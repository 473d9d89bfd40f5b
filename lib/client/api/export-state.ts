import type { FileState } from '../../contract/delivery.ts';
import {
  type ExportedFile,
  type ExportRequestState,
  exportStates,
  type ListedExport,
  type ShownExport,
} from '../../contract/export-state.ts';
import { count, optionalText, rowsOf, text, unexpected, wholeNumber } from './json.ts';

/** One export with one page of its files. */
export interface ExportPage {
  readonly shown: ShownExport;
  /** In the order of their ids. */
  readonly files: readonly ExportedFile[];
}

/** @throws ClientError `protocol` */
export function exportPage(value: unknown): ExportPage {
  const { counts } = value as { counts?: unknown };
  const of = (state: FileState | 'total') => wholeNumber(counts, state);
  const shown = {
    ...requestState(value),
    counts: {
      total: of('total'),
      staged: of('staged'),
      superseded: of('superseded'),
      withdrawn: of('withdrawn'),
      rejected: of('rejected'),
      retrying: of('retrying'),
      pending: of('pending'),
      given_up: of('given_up'),
    },
    bytes: wholeNumber(value, 'bytes'),
  };
  return { shown, files: rowsOf(value, 'files').map(exportedFile) };
}

/** @throws ClientError `protocol` */
export function listedExports(value: unknown): ListedExport[] {
  return rowsOf(value, 'exports').map((row) => {
    const { counts } = row as { counts?: unknown };
    return {
      ...requestState(row),
      counts: {
        total: wholeNumber(counts, 'total'),
        staged: count(counts, 'staged'),
        pending: count(counts, 'pending'),
        retrying: count(counts, 'retrying'),
      },
      bytes: count(row, 'bytes'),
    };
  });
}

function requestState(row: unknown): ExportRequestState {
  const state = exportStates.find((each) => each === text(row, 'state'));
  if (state === undefined) throw unexpected('has a state that this version does not know');
  const kind = optionalText(row, 'kind');
  return {
    requestId: text(row, 'requestId'),
    state,
    reason: optionalText(row, 'reason'),
    kind: kind === 'dataset' || kind === 'file' ? kind : null,
    dataset: optionalText(row, 'dataset'),
    file: optionalText(row, 'file'),
    recipient: optionalText(row, 'recipient'),
    keyFingerprint: optionalText(row, 'keyFingerprint'),
    requestedAt: text(row, 'requestedAt'),
    sealedAt: optionalText(row, 'sealedAt'),
    settledAt: optionalText(row, 'settledAt'),
    generation: wholeNumber(row, 'generation'),
    receipt: optionalText(row, 'receipt'),
  };
}

function exportedFile(row: unknown): ExportedFile {
  return {
    fileId: text(row, 'fileId'),
    // A newer service may know more states. They are shown as they come.
    state: text(row, 'state') as FileState,
    reason: optionalText(row, 'reason'),
    supersededBy: optionalText(row, 'supersededBy'),
    bytes: count(row, 'bytes'),
    changedAt: text(row, 'changedAt'),
  };
}
