import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ACMClient, RequestCertificateCommand } from '@aws-sdk/client-acm';
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { stackNames } from '../../lib/contract/outputs.ts';
import type { Settings } from '../../lib/infra/settings.ts';
import { everything } from '../../test/helpers/variants.ts';
import type { Checkout } from './checkout.ts';
import type { MainJob } from './main-job.ts';
import type { Log } from './run-steps.ts';

/** What an operator of a test stage writes. */
export const usual: Partial<Settings> = { purpose: 'test', alarmEmail: 'operators@example.org', adminPage: true };
/** The same once everything was switched on: the number of keys of receipts never goes down. */
export const afterwards: Partial<Settings> = { ...usual, receiptKeys: 2 };
const both = Object.values(stackNames());

/** @throws Error when a second deployment changes something */
export async function deployAgain(checkout: Checkout, log: Log): Promise<string> {
  const said = await checkout.deploy(log);
  for (const stack of both)
    if (!said.includes(`${stack} (no changes)`)) throw new Error(`expected no changes, got ${said}`);
  return said;
}

export async function changeInPlace(checkout: Checkout, job: MainJob, log: Log): Promise<string> {
  const before = await checkout.cloud.outputs();
  checkout.writeSettings({ ...usual, urlLifetimeSeconds: 120, outboxExpiryDays: 5 });
  const said = await checkout.deploy(log);
  const after = await checkout.cloud.outputs();
  if (before.ProxyUrl !== after.ProxyUrl) throw new Error(`the proxy moved to ${after.ProxyUrl}`);
  const seconds = await job.secondsOfUrl();
  if (seconds > 120) throw new Error(`a URL lives for ${seconds} s`);
  return `${said}; a URL lives for ${seconds} s`;
}

/** Everything that can be switched on at once, with the resources that it needs. */
export async function switchOnAll(checkout: Checkout, log: Log): Promise<string> {
  const { client } = checkout.cloud;
  const acm = new ACMClient(client);
  const certified = async (name: string) => {
    const { CertificateArn: certificateArn = '' } = await acm.send(new RequestCertificateCommand({ DomainName: name }));
    return { name, certificateArn };
  };
  const otherArchiveBuckets = [{ bucketName: 'archive-of-2019' }];
  for (const { bucketName: Bucket } of otherArchiveBuckets)
    await new S3Client(client).send(new CreateBucketCommand({ Bucket }));
  const domains = { proxy: await certified('data.example.org'), dataOut: await certified('direct.example.org') };
  checkout.writeSettings({ ...everything, ...usual, domains, otherArchiveBuckets });
  return await checkout.deploy(log);
}

/** An update whose migration refuses: the service keeps running as it was. */
export async function failToUpdate(checkout: Checkout, job: MainJob, log: Log): Promise<string> {
  const migrate = join(checkout.folder, 'lambdas/migrate.ts');
  const right = readFileSync(migrate, 'utf8');
  writeFileSync(migrate, right.replace(', baseline)', ', "select 1")'));
  const deployed = await checkout.deploy(log).catch(() => undefined);
  writeFileSync(migrate, right);
  if (deployed !== undefined) throw new Error(`an update with a changed migration was carried out: ${deployed}`);
  const { Stacks = [] } = await new CloudFormationClient(checkout.cloud.client).send(
    new DescribeStacksCommand({ StackName: both[1] }),
  );
  const status = Stacks[0]?.StackStatus;
  const isRefused = log.text().includes('its file is missing or different now');
  if (status !== 'UPDATE_ROLLBACK_COMPLETE' || !isRefused) throw new Error(`${both[1]} is ${status}`);
  const served = await job.directAccess();
  checkout.writeSettings(afterwards);
  return `${status}; ${served}; then ${await checkout.deploy(log)}`;
}
