import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { explainReason, reasonCodes } from '../../lib/contract/reasons.ts';

export const reasonsPagePath = join(import.meta.dirname, '../../docs/administrators.md');

/** The page with its table of reasons made again: each remedy once, with the codes that it is for. */
export function reasonsPage(page: string): string {
  const codesOf = new Map<string, string[]>();
  const isOfVisa = (code: string) => Number(code.startsWith('visa_'));
  for (const code of reasonCodes.toSorted((a, b) => isOfVisa(a) - isOfVisa(b))) {
    const { remedy } = explainReason(code) ?? { remedy: '' };
    codesOf.set(remedy, [...(codesOf.get(remedy) ?? []), `\`${code}\``]);
  }
  const rows = [...codesOf].map(([remedy, codes]) => `| ${codes.join(', ')} | ${remedy} |\n`);
  return page.replace(/(<!-- reasons -->\n)[\s\S]*?(<!-- end -->)/, (_, begin: string, end: string) =>
    [begin, '| reason | do this |\n| --- | --- |\n', ...rows, end].join(''),
  );
}

if (import.meta.main) writeFileSync(reasonsPagePath, reasonsPage(readFileSync(reasonsPagePath, 'utf8')));
