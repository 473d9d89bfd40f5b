import { Annotations, type Stack } from 'aws-cdk-lib';

/** Warn at synth that no issuer is trusted: the service would start, and refuse every visa. */
export function warnThatNoIssuerIsTrusted(stack: Stack, trustedIssuers: string): void {
  Annotations.of(stack).addWarningV2(
    'data-out:nobody-is-trusted',
    `${trustedIssuers} names no issuer: every visa will be refused. See docs/trusted-issuers.md.`,
  );
}
