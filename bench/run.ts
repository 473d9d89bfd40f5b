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

const page = new URL('../docs/benchmarks.md', import.meta.url);

/** `npm run bench [name…] [-- --write]`: Markdown on standard output, and on the page replacing the figures there. */
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

/** @throws Error if the page has no place for them */
async function writePage(suite: string, figures: string): Promise<void> {
  const [begin, end] = [`<!-- figures of ${suite} -->\n`, '<!-- end -->'];
  const text = await readFile(page, 'utf8');
  const [before = '', rest] = text.split(begin);
  if (rest === undefined) throw new Error(`the page has no place for the figures of ${suite}`);
  await writeFile(page, `${before}${begin}\n${figures}${rest.slice(rest.indexOf(end))}`);
}

await main(process.argv.slice(2));
