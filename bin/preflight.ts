#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { databaseVersion } from '../lib/infra/settings.ts';
import { runPreflight } from '../lib/ops/preflight/program.ts';
import { awsAccount } from '../lib/ops/stores/account.ts';
import { processTerminal } from '../lib/terminal/process-terminal.ts';
import { operatorSettingsOrExit } from './operator-settings.ts';

const { settings, trustedIssuers, missing } = await operatorSettingsOrExit();
process.exitCode = await runPreflight(process.argv.slice(2), processTerminal(), {
  settings,
  missing,
  engineVersion: databaseVersion,
  issuers: readFileSync(join(import.meta.dirname, '..', trustedIssuers), 'utf8'),
  nodeVersion: process.versions.node,
  account: awsAccount,
  // Loaded when it is needed: the CDK takes a second.
  templates: async () => (await import('../lib/infra/templates.ts')).templatesOf(settings),
});
