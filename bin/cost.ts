#!/usr/bin/env node
import { join } from 'node:path';
import { runCost } from '../lib/ops/cost/command.ts';
import { operatorSettingsOrExit } from './operator-settings.ts';
import { settings as defaults } from './settings.ts';

const { stdout, stderr } = process;
// A reader that closes the pipe, such as head, is not a failure.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});
process.exitCode = await runCost(
  process.argv.slice(2),
  { write: (text) => stdout.write(text), report: (text) => stderr.write(text), columns: stdout.columns },
  {
    root: join(import.meta.dirname, '..'),
    // The page shows the defaults. The CDK takes a second to load.
    templates: async (isForPage) => {
      const settings = isForPage ? defaults : (await operatorSettingsOrExit()).settings;
      return (await import('../lib/infra/templates.ts')).templatesOf(settings);
    },
  },
);
