import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App, Tags, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { trustedIssuersFile } from '../lib/contract/environment.ts';
import { adminPageContext } from '../lib/contract/synth-context.ts';
import { repository } from '../lib/infra/bundling.ts';
import { addStacks } from '../lib/infra/stacks.ts';
import { warnThatNoIssuerIsTrusted } from '../lib/infra/trust-warning.ts';
import { parseTrustedIssuers } from '../lib/visas/index.ts';
import { settings } from './settings.ts';

const app = new App();
Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
Tags.of(app).add('application', 'data-out');

const adminPage = settings.adminPage || app.node.tryGetContext(adminPageContext) === 'true';
const { service } = addStacks(app, { ...settings, adminPage });

// The functions read this file when they start: a mistake in it must stop the deployment, not every request after it.
const { issuers } = parseTrustedIssuers(JSON.parse(readFileSync(join(repository, trustedIssuersFile), 'utf8')));
if (issuers.size === 0) warnThatNoIssuerIsTrusted(service);
