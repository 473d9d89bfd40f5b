#!/usr/bin/env node
import { processTerminal } from '../lib/ops/process-terminal.ts';
import { runProgram } from '../lib/ops/program.ts';
import { connectTarget } from '../lib/ops/target.ts';

process.exitCode = await runProgram(process.argv.slice(2), processTerminal(), connectTarget);
