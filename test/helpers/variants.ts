import { join } from 'node:path';
import type { App, Stack } from 'aws-cdk-lib';
import { settings } from '../../bin/settings.ts';
import type { Settings } from '../../lib/infra/settings.ts';
import { addStacks } from '../../lib/infra/stacks.ts';
import { templateApp } from '../../lib/infra/templates.ts';
import { account, existing } from './settings.ts';

/** What an operator has or names. Everything else can be switched. */
type Named = 'stage' | 'target' | 'archiveBucket' | 'otherArchiveBuckets' | 'archiveKeysSecret' | 'identifiers';

const certificateArn = (id: string) => `arn:aws:acm:eu-north-1:${account}:certificate/${id}`;

/** Everything that an operator can switch on. The type asks for each optional setting, so that none is forgotten. */
export const everything: Required<Omit<Settings, Named>> = {
  ...settings,
  purpose: 'production',
  adminPage: true,
  deliveryReceipt: true,
  receiptKeys: 2,
  withdrawal: 'purge',
  login: { issuer: 'https://login.example.org/oidc/', clientId: 'data-out', scopes: ['openid', 'ga4gh_passport_v1'] },
  outboxQuotaGib: 1000,
  htsget: { origins: ['https://genome.example.org'] },
  compatibility: ['sda', 'ega'],
  directAccess: 'on',
  domains: {
    proxy: { name: 'data.example.org', certificateArn: certificateArn('one') },
    dataOut: { name: 'direct.example.org', certificateArn: certificateArn('two') },
  },
  concurrency: { exportRequests: 2, fileExports: 10, smallFileExports: 5, directFiles: 20 },
  alarmEmail: 'operators@example.org',
  events: 'on',
  logKeys: 'customer',
  auditRetentionDays: 3650,
};

const otherArchiveBuckets = [{ bucketName: 'archive-2' }];
const { target: _, ...existingAnywhere } = existing;

/** Settings that together make every resource, and every exception from a rule. */
export const variants: Readonly<Record<string, Partial<Settings>>> = {
  default: {},
  'switched-on': everything,
  'switched-off': {
    deliveryReceipt: false,
    withdrawal: 'off',
    directAccess: 'off',
  },
  existing: { ...existing, otherArchiveBuckets, events: 'on' },
  'existing-switched-on': { ...everything, ...existing, otherArchiveBuckets, apiGatewayLogRole: 'create' },
  'existing-anywhere': { ...existingAnywhere, otherArchiveBuckets, apiGatewayLogRole: 'create' },
};

/** Both stacks with each of the settings, not synthesized yet. */
export function stacksOfVariants(
  outdir: string,
): readonly { readonly name: string; readonly app: App; readonly stacks: readonly Stack[] }[] {
  return Object.entries(variants).map(([name, change]) => {
    const app = templateApp({ outdir: join(outdir, name) });
    const { storage, service } = addStacks(app, { ...settings, ...change });
    return { name, app, stacks: [storage, service] };
  });
}
