#!/usr/bin/env node
import { systemTiming } from '../lib/common/timing.ts';
import { runOps } from '../lib/ops/program.ts';
import { connectTarget } from '../lib/ops/target.ts';
import { processTerminal } from '../lib/terminal/process-terminal.ts';
import packageJson from '../package.json' with { type: 'json' };

const argv = process.argv.slice(2);
process.exitCode = await runOps(argv, processTerminal(), connectTarget, systemTiming, packageJson.version);
