#!/usr/bin/env node
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import { root } from './build/bundle.ts';
import { buildExecutables, executableName, type Platform, platforms } from './build/executables.ts';
import { buildPackage } from './build/package.ts';

interface Choices {
  readonly executables?: true;
  readonly platform?: readonly Platform[];
}

const program = new Command('npm run build --')
  .description(
    'Builds the package, in dist/package, or the executables with the package beside them, in dist/executables.',
  )
  .option('--executables', 'the client as one file for each platform, with Node.js in it')
  .addOption(new Option('--platform <name...>', 'the executables of some platforms').choices(platforms))
  .action(async ({ executables, platform }: Choices) => {
    if (!executables && !platform) return await buildPackage(join(root, 'dist/package'));
    const chosen = platform ?? platforms;
    const folder = join(root, 'dist/executables');
    await buildExecutables(folder, chosen);
    for (const each of chosen) {
      const path = join(folder, executableName(each));
      process.stdout.write(`${path}: ${Math.round((await stat(path)).size / 1e6)} MB\n`);
    }
  });

await program.parseAsync().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
