import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App, Tags, Validations } from 'aws-cdk-lib';
import { trustedIssuersFile } from '../lib/contract/environment.ts';
import { adminPageContext, defaultsContext } from '../lib/contract/synth.ts';
import { SettingsError } from '../lib/infra/check-settings.ts';
import { disarmUnbundled, repository } from '../lib/infra/functions/bundling.ts';
import { securityPacks } from '../lib/infra/security/packs.ts';
import { addStacks, warnThatNoIssuerIsTrusted } from '../lib/infra/stacks.ts';
import { leftOutKeys, parseTrustedIssuers, smokeIssuerFault, type TrustedIssuers } from '../lib/visas/index.ts';
import { operatorSettings } from './operator-settings.ts';
import { settings as defaults } from './settings.ts';

async function main(): Promise<void> {
  const app = new App();
  Validations.of(app).addPlugins(...securityPacks(app));
  Tags.of(app).add('application', 'data-out');
  const isOn = (context: string) => app.node.tryGetContext(context) === 'true';
  const { settings, trustedIssuers } = isOn(defaultsContext)
    ? { settings: defaults, trustedIssuers: trustedIssuersFile }
    : await filesToDeploy();
  const trusted = readTrustedIssuers(trustedIssuers);
  const fault = smokeIssuerFault(trusted, settings.purpose);
  if (fault) throw new SettingsError(`${trustedIssuers}: ${fault}`);
  const notice = leftOutKeys(trusted);
  if (notice) process.stderr.write(`Note: ${trustedIssuers}: ${notice}\n`);
  const adminPage = settings.adminPage || isOn(adminPageContext);
  const { service } = addStacks(app, { ...settings, adminPage }, trustedIssuers);
  if (trusted.size === 0) warnThatNoIssuerIsTrusted(service, trustedIssuers);
  // The application synthesizes itself before.
  process.once('exit', () => disarmUnbundled(app.outdir));
}

/** A fresh clone must not deploy the defaults over a deployment that has settings. @throws SettingsError */
async function filesToDeploy() {
  const own = await operatorSettings();
  if (own.missing.length === 0) return own;
  throw new SettingsError(
    `there is no ${own.missing.join(', and no ')}: a deployment needs your own files. docs/operators.md says how to write them`,
  );
}

/** The functions read this file when they start: a mistake in it must stop the deployment, not every request after it. */
function readTrustedIssuers(file: string): TrustedIssuers {
  try {
    return parseTrustedIssuers(JSON.parse(readFileSync(join(repository, file), 'utf8')));
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new SettingsError(`${file}: ${problem}`, { cause: error });
  }
}

try {
  await main();
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  // Without a stack: the operator's own files are wrong, not the code.
  process.stderr.write(`Error: ${error.message}\n`);
  // At once: the application would synthesize itself before an ordinary exit.
  process.exit(1);
}
