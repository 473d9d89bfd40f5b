import * as z from 'zod/mini';
import {
  type ExportedFile,
  exportStates,
  type FileState,
  type ListedExport,
  type ShownExport,
} from '../../contract/export-state.ts';
import { parsed, text, wholeNumber } from './json.ts';

/** One export with one page of its files. */
export interface ExportPage {
  readonly shown: ShownExport;
  /** In the order of their ids. */
  readonly files: readonly ExportedFile[];
}

const request = {
  requestId: text,
  state: z.enum(exportStates),
  reason: z.nullable(text),
  kind: z.catch(z.nullable(z.enum(['dataset', 'file'])), null),
  dataset: z.nullable(text),
  file: z.nullable(text),
  recipient: z.nullable(text),
  keyFingerprint: z.nullable(text),
  requestedAt: text,
  settledAt: z.nullable(text),
  generation: wholeNumber,
  receipt: z.nullable(text),
};

const [count, maybe] = [wholeNumber, z.nullable(wholeNumber)];

const shownExport = z.object({
  ...request,
  counts: z.object({
    ...{ total: count, staged: count, superseded: count, withdrawn: count },
    ...{ rejected: count, pending: count, given_up: count },
  }),
  bytes: count,
});

const exportedFiles = z.object({
  files: z.array(
    z.object({
      fileId: text,
      // A newer service may know more states. They are shown as they come.
      state: text as unknown as z.ZodMiniType<FileState>,
      reason: z.nullable(text),
      supersededBy: z.nullable(text),
      bytes: maybe,
      changedAt: text,
    }),
  ),
});

const exportList = z.object({
  exports: z.array(
    z.object({
      ...request,
      counts: z.object({ total: count, staged: maybe, pending: maybe }),
      bytes: maybe,
    }),
  ),
});

/** @throws ClientError `protocol` */
export function exportPage(value: unknown): ExportPage {
  return { shown: parsed(shownExport, value), ...parsed(exportedFiles, value) };
}

/** @throws ClientError `protocol` */
export function listedExports(value: unknown): ListedExport[] {
  return parsed(exportList, value).exports;
}
