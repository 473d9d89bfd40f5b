import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { explainReason, reasonCodes } from '../../lib/contract/reasons.ts';
import { markdownTable } from './table.ts';

export const reasonsPagePath = join(import.meta.dirname, '../../docs/administrators.md');

/** The page with its table of reasons made again: each remedy once, with the codes that it is for. */
export function reasonsPage(page: string): string {
  const isOfVisa = (code: string) => Number(code.startsWith('visa_'));
  const rows = reasonCodes
    .toSorted((a, b) => isOfVisa(a) - isOfVisa(b))
    .map((code) => [`\`${code}\``, explainReason(code)?.remedy ?? '']);
  const made = markdownTable(['reason', 'do this'], rows);
  return page.replace(/(?<=<!-- reasons -->\n)[\s\S]*?(?=<!-- end -->)/, () => made);
}

if (import.meta.main) writeFileSync(reasonsPagePath, reasonsPage(readFileSync(reasonsPagePath, 'utf8')));
