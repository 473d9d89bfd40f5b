import { Annotations, type Stack } from 'aws-cdk-lib';
import { trustedIssuersFile } from '../contract/environment.ts';

/** Say at synth that nobody is trusted: the service would come up and refuse every visa. */
export function warnThatNobodyIsTrusted(stack: Stack): void {
  Annotations.of(stack).addWarningV2(
    'data-out:nobody-is-trusted',
    `${trustedIssuersFile} names no issuer: every visa will be refused. See docs/trusted-issuers.md.`,
  );
}
