import { readFileSync } from 'node:fs';
import { trustedIssuersFile } from '../../lib/contract/environment.ts';
import { parseTrustedIssuers, type TrustedIssuers } from '../../lib/visas/index.ts';

/** The issuers the operator trusts, from the file beside the bundle. @throws at start-up when it is missing or wrong */
export function trustedIssuers(): TrustedIssuers {
  return parseTrustedIssuers(JSON.parse(readFileSync(new URL(`./${trustedIssuersFile}`, import.meta.url), 'utf8')));
}
