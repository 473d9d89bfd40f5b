import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Annotations, type Stack } from 'aws-cdk-lib';
import { trustedIssuersFile } from '../contract/environment.ts';
import { repository } from './bundling.ts';

/** Warn at synth when nobody is trusted: the service would come up and refuse every visa. */
export function warnWhenNobodyIsTrusted(stack: Stack): void {
  const config: unknown = JSON.parse(readFileSync(join(repository, trustedIssuersFile), 'utf8'));
  const issuers = typeof config === 'object' && config !== null && 'issuers' in config ? config.issuers : config;
  if (Array.isArray(issuers) && issuers.length > 0) return;
  Annotations.of(stack).addWarningV2(
    'data-out:nobody-is-trusted',
    `${trustedIssuersFile} names no issuer: every visa will be refused. See docs/trusted-issuers.md.`,
  );
}
