#!/usr/bin/env node
import { runClient } from '../lib/client/cli/main.ts';
import { exitCodes } from '../lib/terminal/exit-codes.ts';
import { processTerminal } from '../lib/terminal/process-terminal.ts';
import packageJson from '../package.json' with { type: 'json' };

// The executables are CommonJS, which has no top-level await. An end before the outcome is known is a failure.
process.exitCode = exitCodes.unexpected;
void runClient(process.argv.slice(2), { terminal: processTerminal(), version: packageJson.version }).then(
  (exitCode) => {
    process.exitCode = exitCode;
  },
);
