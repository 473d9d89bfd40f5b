import type { App } from 'aws-cdk-lib';
import { AwsSolutionsChecks, HIPAASecurityChecks, type NagPack, ServerlessChecks } from 'cdk-nag';

/** The packs of cdk-nag that both stacks pass, for `Validations.addPlugins`. */
export function securityPacks(app: App): NagPack[] {
  return [AwsSolutionsChecks, HIPAASecurityChecks, ServerlessChecks].map((Pack) => new Pack(app));
}
