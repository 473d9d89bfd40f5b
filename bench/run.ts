import { readFile, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { createReport, type Headline, machine, type Suite } from './report.ts';

/** The suites by name, in the order in which they run. Each is loaded only when it runs. */
const suites: Readonly<Record<string, () => Promise<{ default: Suite }>>> = {
  crypt4gh: () => import('./crypt4gh.ts'),
  export: () => import('./export.ts'),
  regions: () => import('./regions.ts'),
  client: () => import('./client.ts'),
};

const page = new URL('../docs/performance.md', import.meta.url);

/** `npm run bench [name…] [-- --write]`: prints all that was measured, and puts the headlines of each suite into the page. */
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
    const headlines: Headline[] = [];
    const report = createReport((markdown) => process.stdout.write(markdown), headlines);
    const today = new Date().toISOString().slice(0, 10);
    report.text(`## ${name}`);
    report.text(`${today}: ${machine()}; load at the start ${loadavg()[0]?.toFixed(1)}`);
    await (await load()).default(report);
    if (words.includes('--write')) await writePage(name, `${today}, ${machine()}`, headlines);
  }
}

/** Replaces the table of one suite, which stands between its two comments. */
async function writePage(suite: string, measured: string, headlines: readonly Headline[]): Promise<void> {
  const rows = headlines.map(({ what, value, target }) => {
    return `| ${what} | ${value} | ${target ? `${target.text}${target.holds ? '' : ', **not met**'}` : ''} |`;
  });
  const table = [`Measured on ${measured}.`, '', '| what | figure | target |', '| --- | --: | --: |', ...rows].join(
    '\n',
  );
  const [start, end] = [`<!-- bench: ${suite} -->\n`, '\n<!-- end -->'];
  const [before, rest] = (await readFile(page, 'utf8')).split(start);
  if (rest === undefined) throw new Error(`docs/performance.md has no place for the suite ${suite}`);
  await writeFile(page, `${before}${start}${table}${rest.slice(rest.indexOf(end))}`);
}

await main(process.argv.slice(2));
