#!/usr/bin/env node
import { runClient } from '../lib/cli/main.ts';
import { processTerminal } from '../lib/terminal/process-terminal.ts';
import packageJson from '../package.json' with { type: 'json' };

process.exitCode = await runClient(process.argv.slice(2), {
  terminal: processTerminal(),
  version: packageJson.version,
});
