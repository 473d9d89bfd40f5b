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

/** `npm run bench [name…]`: Markdown on standard output. */
async function main(names: readonly string[]): Promise<void> {
  const unknown = names.filter((name) => !(name in suites));
  if (unknown.length > 0) {
    process.stderr.write(`there is no suite ${unknown.join(', ')}; there are ${Object.keys(suites).join(', ')}\n`);
    process.exitCode = 2;
    return;
  }
  const report = createReport((markdown) => process.stdout.write(markdown));
  report.text(`${machine()}; load at the start ${loadavg()[0]?.toFixed(1)}`);
  for (const [name, load] of Object.entries(suites)) {
    if (names.length > 0 && !names.includes(name)) continue;
    report.text(`## ${name}`);
    await (await load()).default(report);
  }
}

await main(process.argv.slice(2));
