import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Columns, fileTransitions, requestTransitions } from '../../lib/service/ledger/transitions.ts';

export const ledgerPagePath = join(import.meta.dirname, '../../docs/ledger.md');

interface Row {
  readonly event: string;
  readonly steps: Readonly<Record<string, string>>;
  readonly when?: string;
  readonly columns: Columns;
}

/** The page with its pictures and tables as the tables of transitions give them now. */
export function ledgerPage(page: string): string {
  const all = [requests(), files()];
  const pictures = all.map(picture);
  const tables = all.map(table);
  return page
    .replaceAll(/(?<=```mermaid\n)[\s\S]*?(?=\n```)/g, () => pictures.shift() ?? '')
    .replaceAll(/^\| event \|[\s\S]*?(?=\n\n|\n$|$(?![\s\S]))/gm, () => tables.shift() ?? '');
}

function requests(): readonly Row[] {
  return Object.entries(requestTransitions).map(([event, { steps, when, set = {} }]) => ({
    ...{ event, steps, columns: set },
    ...(when !== undefined && { when }),
  }));
}

function files(): readonly Row[] {
  return Object.entries(fileTransitions).map(([event, { steps, given = [], set = {}, also, alsoFrom = [] }]) => {
    const ofRequest = also && (alsoFrom.length === 0 ? also : `${also}, if it was ${alsoFrom.join(' or ')}`);
    return {
      ...{ event, steps },
      columns: {
        ...(given.length > 0 && { [given.join(', ')]: 'as given' }),
        ...set,
        ...(ofRequest !== undefined && { 'its request': ofRequest }),
      },
    };
  });
}

/** A state picture of Mermaid. A step that stays where it is appears in the table alone. */
function picture(rows: readonly Row[]): string {
  const labels = new Map<string, string[]>();
  for (const { event, steps } of rows) {
    for (const [from, to] of Object.entries(steps)) {
      if (from === to) continue;
      const arrow = `${from === 'absent' ? '[*]' : from} --> ${to}`;
      labels.set(arrow, [...(labels.get(arrow) ?? []), event]);
    }
  }
  return ['stateDiagram-v2', ...[...labels].map(([arrow, names]) => `  ${arrow}: ${names.join(', ')}`)].join('\n');
}

function table(rows: readonly Row[]): string {
  const code = (text: string) => `\`${text.replaceAll(/\s+/g, ' ').trim()}\``;
  const lines = rows.map(({ event, steps, when, columns }) => {
    const from = Object.keys(steps).map((state) => (state === 'absent' ? 'no row' : code(state)));
    const changes = Object.entries(columns).map(
      ([column, value]) => `${column}: ${/^\w+ given$/.test(value) ? value : code(value)}`,
    );
    return `| ${code(event)} | ${from.join(', ')} | ${when === undefined ? '' : code(when)} | ${changes.join('<br>')} |`;
  });
  return ['| event | in | if | columns |', '| --- | --- | --- | --- |', ...lines].join('\n');
}

if (import.meta.main) writeFileSync(ledgerPagePath, ledgerPage(readFileSync(ledgerPagePath, 'utf8')));
