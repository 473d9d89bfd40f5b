import type { App } from 'aws-cdk-lib';
import { stackNames } from '../contract/outputs.ts';
import { checkSettings } from './check-settings.ts';
import { acceptForTheWhole } from './security/rules.ts';
import { ServiceStack } from './service-stack.ts';
import type { Settings } from './settings.ts';
import { StorageStack } from './storage-stack.ts';

/** Both stacks of one deployment. @throws SettingsError when a setting cannot work */
export function addStacks(app: App, settings: Settings): { storage: StorageStack; service: ServiceStack } {
  checkSettings(settings);
  acceptForTheWhole(app, settings);
  const names = stackNames(settings.stage);
  const common = { settings, ...(settings.target ? { env: settings.target } : {}) };
  const storage = new StorageStack(app, names.storage, {
    ...common,
    description: 'data-out: archive, outbox, catalogue, keys and secrets',
  });
  const service = new ServiceStack(app, names.service, {
    ...common,
    storage,
    description: 'data-out: APIs, functions, queues and alarms',
  });
  return { storage, service };
}
