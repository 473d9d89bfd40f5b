#!/usr/bin/env node
import { join } from 'node:path';
import { runCost } from '../lib/cost/command.ts';
import { settings } from './settings.ts';

const { stdout, stderr } = process;
// A reader that closes the pipe, such as head, is no failure.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});
process.exitCode = await runCost(
  process.argv.slice(2),
  { write: (text) => stdout.write(text), report: (text) => stderr.write(text), columns: stdout.columns },
  {
    root: join(import.meta.dirname, '..'),
    // The CDK takes a second to load.
    templates: async () => (await import('../lib/infra/templates.ts')).templatesOf(settings),
  },
);
