#!/usr/bin/env node
import { databaseVersion } from '../lib/infra/settings.ts';
import { runPreflight } from '../lib/ops/preflight/preflight.ts';
import { awsAccount } from '../lib/ops/stores/account.ts';
import { processTerminal } from '../lib/terminal/process-terminal.ts';
import { operatorSettingsOrExit } from './operator-settings.ts';

const { settings } = await operatorSettingsOrExit();
process.exitCode = await runPreflight(process.argv.slice(2), processTerminal(), {
  ...{ settings, engineVersion: databaseVersion, account: awsAccount },
  // Loaded when it is needed: the CDK takes a second.
  templates: async () => (await import('../lib/infra/templates.ts')).templatesOf(settings),
});
