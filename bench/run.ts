import { readFile, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { createReport, machine, type Suite } from './report.ts';

/** The suites by name, in the order in which they run. Each is loaded only when it runs. */
const suites: Readonly<Record<string, () => Promise<{ default: Suite }>>> = {
  crypt4gh: () => import('./crypt4gh.ts'),
  bundles: () => import('./bundles.ts'),
  export: () => import('./export.ts'),
  capacity: () => import('./capacity.ts'),
  engine: () => import('./engine/suite.ts'),
  listing: () => import('./listing.ts'),
  'data-out': () => import('./data-out/suite.ts'),
  regions: () => import('./regions.ts'),
  start: () => import('./start.ts'),
  client: () => import('./client.ts'),
};

const page = new URL('../docs/figures.md', import.meta.url);

/** `npm run bench [name…] [-- --write]`: Markdown on standard output, and in their section of the page. */
async function main(words: readonly string[]): Promise<void> {
  const names = words.filter((word) => word !== '--write');
  const unknown = names.filter((name) => !(name in suites));
  if (unknown.length > 0) {
    process.stderr.write(`there is no suite ${unknown.join(', ')}; there are ${Object.keys(suites).join(', ')}\n`);
    process.exitCode = 2;
    return;
  }
  for (const [name, load] of Object.entries(suites)) {
    if (names.length > 0 && !names.includes(name)) continue;
    let figures = '';
    const report = createReport((markdown) => {
      figures += markdown;
      process.stdout.write(markdown);
    });
    process.stdout.write(`## ${name}\n\n`);
    const today = new Date().toISOString().slice(0, 10);
    report.text(`${today}: ${machine()}; load at the start ${loadavg()[0]?.toFixed(1)}`);
    await (await load()).default(report);
    if (words.includes('--write')) await writePage(name, figures);
  }
}

/** Replaces one section of the page, and keeps the others. */
async function writePage(suite: string, figures: string): Promise<void> {
  const [head, ...rest] = (await readFile(page, 'utf8')).split(/^## /m);
  const sections = new Map(rest.map((section) => [section.slice(0, section.indexOf('\n')), section]));
  sections.set(suite, `${suite}\n\n${figures}`);
  const inOrder = Object.keys(suites).flatMap((name) => sections.get(name)?.trimEnd() ?? []);
  await writeFile(page, `${[head?.trimEnd(), ...inOrder].join('\n\n## ')}\n`);
}

await main(process.argv.slice(2));
