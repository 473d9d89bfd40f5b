import { App, Tags, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { checkSettings } from '../lib/infra/check-settings.ts';
import { ServiceStack } from '../lib/infra/service-stack.ts';
import { StorageStack } from '../lib/infra/storage-stack.ts';
import { warnWhenNobodyIsTrusted } from '../lib/infra/trust-warning.ts';
import { settings } from './settings.ts';

checkSettings(settings);

const app = new App();
Validations.of(app).addPlugins(new AwsSolutionsChecks(app));

const suffix = settings.stage ? `-${settings.stage}` : '';
const common = { settings, ...(settings.target ? { env: settings.target } : {}) };
const storage = new StorageStack(app, `DataOutStorage${suffix}`, {
  ...common,
  description: 'data-out: archive, outbox, catalogue, keys and secrets',
});
const service = new ServiceStack(app, `DataOutService${suffix}`, {
  ...common,
  storage,
  description: 'data-out: APIs, functions, queues and alarms',
});
warnWhenNobodyIsTrusted(service);
Tags.of(app).add('application', 'data-out');
