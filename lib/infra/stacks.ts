import type { App } from 'aws-cdk-lib';
import { checkSettings } from './check-settings.ts';
import { ServiceStack } from './service-stack.ts';
import type { Settings } from './settings.ts';
import { StorageStack } from './storage-stack.ts';

/** Both stacks of one deployment. @throws SettingsError when a setting cannot work */
export function addStacks(app: App, settings: Settings): { storage: StorageStack; service: ServiceStack } {
  checkSettings(settings);
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
  return { storage, service };
}
