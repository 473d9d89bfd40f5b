#!/usr/bin/env node
import { runOps } from '../lib/ops/program.ts';
import { connectTarget } from '../lib/ops/target.ts';
import { processTerminal } from '../lib/terminal/process-terminal.ts';

process.exitCode = await runOps(process.argv.slice(2), processTerminal(), connectTarget);
