import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildExecutables, executableName, platforms } from '../bin/build/executables.ts';
import { builtPackage } from '../test/helpers/built-package.ts';
import { figure, median, type Report, ratio, verdict } from './report.ts';

const rounds = 11;
const targetMs = 500;

/** The start of the executable beside that of the npm package. */
export default async function startSuite(report: Report): Promise<void> {
  const platform = platforms.find((name) => name === `${process.platform}-${process.arch}`);
  if (platform === undefined) {
    report.text(`There is no executable for ${process.platform} (${process.arch}).`);
    return;
  }
  const folder = await mkdtemp(join(tmpdir(), 'data-out-start-'));
  try {
    await buildExecutables(folder, [platform]);
    const executable = [join(folder, executableName(platform)), '--version'];
    const packaged = [process.execPath, join(await builtPackage(), 'bin/data-out.js'), '--version'];
    for (const command of [executable, packaged]) started(command);
    const times = Array.from({ length: rounds }, () => [started(executable), started(packaged)] as const);
    const [ours, reference] = [median(times.map(([one]) => one)), median(times.map(([, other]) => other))];
    report.table(
      ['--version of', 'ms', '× npm package', `≤ ${targetMs} ms`],
      [
        ['executable', figure(ours), ratio(ours, reference), verdict(ours <= targetMs)],
        ['npm package', figure(reference), ratio(reference, reference), ''],
      ],
    );
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Milliseconds from start to end, in an empty environment. */
function started([command = '', ...args]: readonly string[]): number {
  const start = performance.now();
  const { status } = spawnSync(command, args, { env: {} });
  if (status !== 0) throw new Error(`${command} ended with ${status}`);
  return performance.now() - start;
}
