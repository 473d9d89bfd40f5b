#!/usr/bin/env node
import type { Settings } from '../lib/infra/settings.ts';
import { runSmoke } from '../lib/ops/smoke/program.ts';
import { processTerminal } from '../lib/terminal/process-terminal.ts';
import { operatorSettingsOrExit } from './operator-settings.ts';
import { settings as defaults } from './settings.ts';

const expected = ({ stage, archiveKind, deliveryReceipt = true, archiveCredentials }: Settings) => ({
  ...{ stage, archiveKind, deliveryReceipt, needsPassword: archiveCredentials !== 'when-presented' },
});
process.exitCode = await runSmoke(process.argv.slice(2), processTerminal(), {
  local: expected(defaults),
  deployed: expected((await operatorSettingsOrExit()).settings),
});
