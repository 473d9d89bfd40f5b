import type { App } from 'aws-cdk-lib';
import {
  AwsSolutionsChecks,
  HIPAASecurityChecks,
  type NagPack,
  NIST80053R5Checks,
  PCIDSS321Checks,
  ServerlessChecks,
} from 'cdk-nag';

/** The packs of cdk-nag that both stacks pass, for `Validations.addPlugins`. */
export function securityPacks(app: App): NagPack[] {
  const packs = [AwsSolutionsChecks, NIST80053R5Checks, HIPAASecurityChecks, PCIDSS321Checks, ServerlessChecks];
  return packs.map((Pack) => new Pack(app));
}
