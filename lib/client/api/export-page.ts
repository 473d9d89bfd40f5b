import * as z from 'zod/mini';
import { type ExportedFile, exportStates, type ListedExport, type ShownExport } from '../../contract/export-state.ts';
import { parsed, text, wholeNumber } from './json.ts';

const request = { requestId: text, state: z.enum(exportStates), counts: z.looseObject({ total: wholeNumber }) };
// A newer service may know more states of files. They are shown as they come.
const files = z.array(z.looseObject({ fileId: text, state: text }));
const page = z.looseObject({ ...request, files });
const list = z.object({ exports: z.array(z.looseObject(request)) });

/** One export with one page of its files, in the order of their ids. */
export type ExportPage = Readonly<ReturnType<typeof exportPage>>;

/** @throws ClientError `protocol` if another service answers */
export function exportPage(value: unknown) {
  const { files, ...shown } = parsed(page, value);
  return { shown: shown as unknown as ShownExport, files: files as unknown as readonly ExportedFile[] };
}

/** @throws ClientError `protocol` if another service answers */
export function listedExports(value: unknown): ListedExport[] {
  return parsed(list, value).exports as unknown as ListedExport[];
}
