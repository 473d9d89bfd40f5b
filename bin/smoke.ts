#!/usr/bin/env node
import { runSmoke } from '../lib/smoke/program.ts';
import { processTerminal } from '../lib/terminal/process-terminal.ts';
import { settings } from './settings.ts';

const { stage, archiveKind, deliveryReceipt = true } = settings;
process.exitCode = await runSmoke(process.argv.slice(2), processTerminal(), {
  stage,
  archiveKind,
  deliveryReceipt,
});
