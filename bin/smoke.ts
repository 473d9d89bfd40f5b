#!/usr/bin/env node
import type { Settings } from '../lib/infra/settings.ts';
import { runSmoke } from '../lib/ops/smoke/program.ts';
import { processTerminal } from '../lib/terminal/process-terminal.ts';
import { operatorSettingsOrExit } from './operator-settings.ts';
import { settings as defaults } from './settings.ts';

const expected = (settings: Settings) => ({
  ...{ archiveKind: settings.archiveKind, deliveryReceipt: settings.deliveryReceipt ?? true },
  ...{ adminPage: settings.adminPage ?? false, needsPassword: settings.archiveCredentials !== 'when-presented' },
  ...Object.fromEntries((settings.compatibility ?? []).map((client) => [client, true])),
});
process.exitCode = await runSmoke(process.argv.slice(2), processTerminal(), {
  // The engine switches the page on.
  local: expected({ ...defaults, adminPage: true }),
  deployed: expected((await operatorSettingsOrExit()).settings),
});
