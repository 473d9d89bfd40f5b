import { Annotations, type App, type Stack } from 'aws-cdk-lib';
import { trustedIssuersFile } from '../contract/environment.ts';
import { stackNames } from '../contract/outputs.ts';
import { checkSettings } from './check-settings.ts';
import { acceptForTheWhole } from './security/rules.ts';
import { ServiceStack } from './service-stack.ts';
import type { Settings } from './settings.ts';
import { StorageStack } from './storage-stack.ts';

/**
 * Both stacks of one deployment.
 * @param trustedIssuers the trust list to bundle, relative to the root of the repository
 * @throws SettingsError when a setting cannot work
 */
export function addStacks(
  app: App,
  settings: Settings,
  trustedIssuers: string = trustedIssuersFile,
): { storage: StorageStack; service: ServiceStack } {
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
    trustedIssuers,
    description: 'data-out: APIs, functions, queues and alarms',
  });
  return { storage, service };
}

/** Warn at synth that no issuer is trusted: the service would start, and refuse every visa. */
export function warnThatNoIssuerIsTrusted(stack: Stack, trustedIssuers: string): void {
  Annotations.of(stack).addWarningV2(
    'data-out:nobody-is-trusted',
    `${trustedIssuers} names no issuer: every visa will be refused. See docs/trusted-issuers.md.`,
  );
}
