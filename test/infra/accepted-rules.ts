import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Acknowledgement, acknowledgements } from '../helpers/security-findings.ts';
import { stacksOfVariants } from '../helpers/variants.ts';

/** The page with the table of accepted rules. */
export const pagePath = join(import.meta.dirname, '../../docs/template-rules.md');

const table = /(<!-- accepted rules -->\n)[\s\S]*?(<!-- end -->)/;

/** The page with its table made again: each reason once, with the names of its rules in all packs. */
export function withAcceptedRules(page: string, accepted: readonly Acknowledgement[]): string {
  const rulesOf = new Map<string, Set<string>>();
  for (const { rule, reason } of accepted) {
    // Without the pack before it and the finding after it: `AwsSolutions-IAM5[Resource::*]`.
    const name = rule.replace(/^[A-Za-z0-9.]+-/, '').replace(/\[.*$/s, '');
    rulesOf.set(reason, (rulesOf.get(reason) ?? new Set()).add(name));
  }
  const rows = [...rulesOf].map(([reason, rules]) => [[...rules].sort().map((rule) => `\`${rule}\``), reason]);
  const lines = rows.map(([rules, reason]) => `| ${String(rules).replaceAll(',', ', ')} | ${reason} |\n`).sort();
  return page.replace(table, (_, begin: string, end: string) =>
    [begin, '| rules | reason |\n| --- | --- |\n', ...lines, end].join(''),
  );
}

if (import.meta.main) {
  const outdir = mkdtempSync(join(tmpdir(), 'data-out-'));
  const accepted = stacksOfVariants(outdir).flatMap(({ app }) => acknowledgements(app));
  rmSync(outdir, { recursive: true });
  writeFileSync(pagePath, withAcceptedRules(readFileSync(pagePath, 'utf8'), accepted));
}
