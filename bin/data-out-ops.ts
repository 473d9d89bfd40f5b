#!/usr/bin/env node
import { runProgram } from '../lib/ops/program.ts';
import { connectTarget } from '../lib/ops/target.ts';
import { processTerminal } from '../lib/terminal/process-terminal.ts';

process.exitCode = await runProgram(process.argv.slice(2), processTerminal(), connectTarget);
