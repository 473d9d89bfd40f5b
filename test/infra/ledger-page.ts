import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pictures } from '../../lib/service/ledger/transitions.ts';

export const ledgerPagePath = join(import.meta.dirname, '../../docs/ledger.md');

/** The page with its two pictures as the tables of transitions give them now. */
export function ledgerPage(page: string): string {
  const made = Object.values(pictures());
  return page.replace(/(?<=```mermaid\n)[\s\S]*?(?=\n```)/g, () => made.shift() ?? '');
}

if (import.meta.main) writeFileSync(ledgerPagePath, ledgerPage(readFileSync(ledgerPagePath, 'utf8')));
