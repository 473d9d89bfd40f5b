import { readPage } from '../../test/helpers/pages.ts';
import type { Cloud } from './cloud.ts';

const page = '.ci/second-cloud/README.md';

/** What the page says of each patch, and of what the emulator lacks without one: what a pass does not prove, by name. */
export function unprovenByPage(text = readPage(page)): ReadonlyMap<string, string> {
  const [, table = ''] = text.split('| stands in | a pass does not prove |\n| --- | --- |\n');
  const rows = table.trimEnd().split('\n');
  return new Map(
    rows.map((row) => row.split(' | ').map((cell) => cell.replaceAll(/^\| |[`]| \|$/g, '')) as [string, string]),
  );
}

/** The end of a run that passed. */
export function notProven({ open, byItself }: Cloud['gaps']): string {
  const rows = [...unprovenByPage()].filter(([name]) => !byItself.includes(name));
  const lines = rows.map(([name, what]) => `- ${open.includes(name) ? `patch ${name}` : name}: ${what}\n`);
  const closed = byItself.map((name) => `The emulator has closed the gap ${name} automatically: remove its patch.\n`);
  return ['This does not prove:\n', ...lines, ...closed].join('');
}
