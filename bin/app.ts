import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App, Tags, Validations } from 'aws-cdk-lib';
import { trustedIssuersFile } from '../lib/contract/environment.ts';
import { adminPageContext } from '../lib/contract/synth-context.ts';
import { SettingsError } from '../lib/infra/check-settings.ts';
import { repository } from '../lib/infra/functions/bundling.ts';
import { securityPacks } from '../lib/infra/security/packs.ts';
import { addStacks } from '../lib/infra/stacks.ts';
import { warnThatNoIssuerIsTrusted } from '../lib/infra/trust-warning.ts';
import { parseTrustedIssuers, smokeIssuerFault, type TrustedIssuers } from '../lib/visas/index.ts';
import { settings } from './settings.ts';

function main(): void {
  const app = new App();
  Validations.of(app).addPlugins(...securityPacks(app));
  Tags.of(app).add('application', 'data-out');
  const trusted = readTrustedIssuers();
  const fault = smokeIssuerFault(trusted, settings.purpose);
  if (fault) throw new SettingsError(`${trustedIssuersFile}: ${fault}`);
  const adminPage = settings.adminPage || app.node.tryGetContext(adminPageContext) === 'true';
  const { service } = addStacks(app, { ...settings, adminPage });
  if (trusted.issuers.size === 0) warnThatNoIssuerIsTrusted(service);
}

/** The functions read this file when they start: a mistake in it must stop the deployment, not every request after it. */
function readTrustedIssuers(): TrustedIssuers {
  try {
    return parseTrustedIssuers(JSON.parse(readFileSync(join(repository, trustedIssuersFile), 'utf8')));
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new SettingsError(`${trustedIssuersFile}: ${problem}`, { cause: error });
  }
}

try {
  main();
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  // Without a stack: the operator's own files are wrong, not the code.
  process.stderr.write(`Error: ${error.message}\n`);
  // At once: the application would synthesize itself before an ordinary exit.
  process.exit(1);
}
