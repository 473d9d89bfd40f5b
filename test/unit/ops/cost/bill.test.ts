import { describe, expect, test } from 'vitest';
import { billOf } from '../../../../lib/ops/cost/bill.ts';
import type { Inventory } from '../../../../lib/ops/cost/inventory.ts';
import { serviceAmounts, type Workload } from '../../../../lib/ops/cost/usage.ts';

/** Of which nothing costs anything, so that each test sees what it is about. */
const bare: Inventory = {
  keys: 0,
  secrets: 0,
  alarmMetrics: 0,
  dashboards: 0,
  webAcls: 0,
  webAclRules: 0,
  clusters: 0,
  leastCapacity: 0,
  polledQueues: 0,
  schedules: [],
  memoryGib: () => 1,
  outboxDays: 30,
  isTraced: false,
  recordsObjects: false,
};
const nothing: Workload = { exports: 0, files: 1, gib: 1, downloads: 1, days: 30 };
/** One GiB in a month of 730 hours, one file, fetched twice. */
const one: Workload = { exports: 1, files: 1, gib: 1, downloads: 2, days: 730 / 24 };

describe('the bill of this service', () => {
  test('is empty without resources and exports', () => {
    expect(billOf(serviceAmounts(bare, nothing))).toEqual({ idle: 0, use: 0, total: 0, services: [], missing: [] });
  });

  test('has what exists anyway: keys, secrets, alarms, the database, queues, schedules', () => {
    const bill = billOf(
      serviceAmounts(
        {
          ...bare,
          ...{ keys: 3, secrets: 2, alarmMetrics: 10, dashboards: 1, clusters: 1, leastCapacity: 0.5, polledQueues: 1 },
          schedules: [{ runsAMonth: 730, memoryGib: 1 }],
        },
        nothing,
      ),
    );
    const idle = Object.fromEntries(bill.services.map(({ service, idle: usd }) => [service, usd]));
    expect(idle['AWS KMS']).toBe(3);
    expect(idle['AWS Secrets Manager']).toBeCloseTo(0.8, 9);
    // 10 × 0.10 + 3.00 + 730 × 2 KiB of logs at 0.50
    expect(idle['Amazon CloudWatch']).toBeCloseTo(4.000696, 6);
    // 365 ACU-hours × 0.12 + 10 GiB × 0.10 + 2,920 calls at 0.35 a million
    expect(idle['Amazon Aurora']).toBeCloseTo(44.801022, 6);
    // 900 receives an hour, 657,000 per month
    expect(idle['Amazon SQS']).toBeCloseTo(0.2628, 9);
    // 730 s with 1 GiB × 0.0000133334 + 730 × 0.20 a million
    expect(idle['AWS Lambda']).toBeCloseTo(0.009879, 6);
    expect(bill.use).toBe(0);
    expect(bill.total).toBe(bill.idle);
    // EventBridge's price was not found: it is named, and in no sum.
    expect(bill.missing.map(({ id }) => id)).toEqual(['events.schedules']);
  });

  test('adds what exports use', () => {
    const bill = billOf(serviceAmounts(bare, one));
    const use = Object.fromEntries(bill.services.map(({ service, use: usd }) => [service, usd]));
    // Two downloads of 1 GiB.
    expect(use['Data transfer']).toBeCloseTo(0.18, 9);
    // 1 GiB-month; 19 writes and a receipt; 4 reads, and 2 GETs for each of two downloads of a whole GiB.
    expect(use['Amazon S3']).toBeCloseTo(0.023 + (20 * 0.005) / 1000 + (8 * 0.0004) / 1000, 9);
    // The request, ten looks at its state, a listing, two downloads.
    expect(use['Amazon API Gateway']).toBeCloseTo((14 * 3.5) / 1e6, 12);
    // 4 calls for the file, 10 for the export, 14 for requests.
    expect(use['Amazon Aurora']).toBeCloseTo((28 * 0.35) / 1e6, 12);
    // 2.1 for the file, 6 for the export.
    expect(use['Amazon SQS']).toBeCloseTo((8.1 * 0.4) / 1e6, 12);
    // 1 % of 28 calls.
    expect(use['AWS KMS']).toBeCloseTo((0.28 * 0.03) / 1e4, 12);
    expect(bill.idle).toBe(0);
    expect(bill.services[0]?.service).toBe('Amazon CloudWatch');
  });

  test('follows the settings: traces, firewall, records of objects', () => {
    const names = (inventory: Inventory) =>
      billOf(serviceAmounts(inventory, one)).services.map(({ service }) => service);
    expect(names(bare)).not.toEqual(expect.arrayContaining(['AWS X-Ray']));
    const on = { ...bare, isTraced: true, webAcls: 2, webAclRules: 4, recordsObjects: true };
    expect(names(on)).toEqual(expect.arrayContaining(['AWS X-Ray', 'AWS WAF', 'AWS CloudTrail']));
    const waf = billOf(serviceAmounts(on, nothing)).services.find(({ service }) => service === 'AWS WAF');
    expect(waf?.idle).toBe(14);
  });

  test('pays for storage by the days, and for egress by the downloads alone', () => {
    const cost = (change: Partial<Workload>) =>
      billOf(serviceAmounts(bare, { ...one, gib: 1000, files: 1000, ...change }));
    const s3 = (days: number) => cost({ days }).services.find(({ service }) => service === 'Amazon S3')?.total ?? 0;
    // 1,000 GiB × 0.023, for one day.
    expect((s3(30) - s3(10)) / 20).toBeCloseTo((23 * 24) / 730, 9);
    const none = cost({ downloads: 0 }).services.map(({ service }) => service);
    expect(none).not.toContain('Data transfer');
  });
});
