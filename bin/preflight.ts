#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { trustedIssuersFile } from '../lib/contract/environment.ts';
import { databaseVersion } from '../lib/infra/storage/catalogue.ts';
import { runPreflight } from '../lib/preflight/program.ts';
import { AwsAccount } from '../lib/stores/account/account.ts';
import { processTerminal } from '../lib/terminal/process-terminal.ts';
import { settings } from './settings.ts';

process.exitCode = await runPreflight(process.argv.slice(2), processTerminal(), {
  settings,
  engineVersion: databaseVersion.auroraPostgresFullVersion,
  issuers: readFileSync(join(import.meta.dirname, '..', trustedIssuersFile), 'utf8'),
  nodeVersion: process.versions.node,
  account: (...parameters) => new AwsAccount(...parameters),
});
