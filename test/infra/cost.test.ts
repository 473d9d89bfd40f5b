import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { settings } from '../../bin/settings.ts';
import { templatesOf } from '../../lib/infra/templates.ts';
import { runCost } from '../../lib/ops/cost/command.ts';
import { inventoryOf } from '../../lib/ops/cost/inventory.ts';
import { costPage } from '../../lib/ops/cost/report.ts';
import { blocksOf } from '../helpers/pages.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const templates = templatesOf(settings);
const inventory = inventoryOf(templates);

describe('docs/cost.md', () => {
  test('has the tables of these settings and prices: npm run cost -- --write', () => {
    const page = read('docs/cost.md');
    expect(page.match(/<!-- cost: .+ -->/g)).toHaveLength(3);
    expect(costPage(page, inventory)).toBe(page);
  });

  test('fails for a table that there is not', () => {
    expect(() => costPage('<!-- cost: wishes -->\n<!-- end -->', inventory)).toThrow('no table wishes');
  });
});

describe('the inventory of this deployment', () => {
  test('knows each function whose time is paid for', () => {
    for (const name of ['StageFile', 'ConsumeExport', 'SettleDelivery', 'Stream', 'Export', 'AuthorizeOutbox'])
      expect(inventory.memoryGib(name)).toBeGreaterThan(0);
    expect(inventory.schedules.length).toBeGreaterThanOrEqual(3);
  });

  test('follows the settings', () => {
    const other = inventoryOf(
      templatesOf({ ...settings, outboxExpiryDays: 7, database: { minCapacity: 2, maxCapacity: 8, backupDays: 1 } }),
    );
    expect(other).toMatchObject({ outboxDays: 7, leastCapacity: 2, clusters: 1 });
  });
});

describe('npm run cost', () => {
  test('ends the process with its exit code', async () => {
    const cost = spawn(process.execPath, ['bin/cost.ts', '--wish'], { cwd: root });
    const faults = text(cost.stderr);
    expect(await once(cost, 'exit')).toEqual([2, null]);
    expect(await faults).toContain("Unknown option '--wish'");
  });

  const run = async (...options: string[]) => {
    let [stdout, stderr] = ['', ''];
    const output = { write: (text: string) => (stdout += text), report: (text: string) => (stderr += text) };
    const code = await runCost(options, output, { root, templates: async () => templates });
    return { code, stdout, stderr };
  };

  const [block] = blocksOf('docs/cost.md').filter(({ language }) => language === 'sh');
  const commands = block?.text.trim().split('\n') ?? [];

  test.each(commands)('%s prints a month by service', async (command) => {
    const [, words = ''] = /^npm run cost(?: -- (.+))?$/.exec(command) ?? [];
    const { code, stdout } = await run(...words.split(' ').filter(Boolean));
    expect(code).toBe(0);
    expect(stdout).toMatch(/^USD a month, region us-east-1/);
    for (const line of ['Data transfer', 'Amazon Aurora', 'total'])
      expect(stdout).toMatch(new RegExp(`^${line} +[\\d,.]+ `, 'm'));
    expect(stdout).toContain('no price was found, and none is counted: Amazon EventBridge: runs of a schedule');
  });

  test('prints one object per month with --json', async () => {
    const { stdout } = await run(
      '--files',
      '10',
      '--gib',
      '100',
      '--exports',
      '2',
      '--downloads',
      '0',
      '--days',
      '7',
      '--json',
    );
    const { workload, service } = JSON.parse(stdout);
    expect(workload).toEqual({ files: 10, gib: 100, exports: 2, downloads: 0, days: 7 });
    expect(service.services.map((one: { service: string }) => one.service)).not.toContain('Data transfer');
    // 200 GiB for 7 of 30.4 days, and the requests.
    const s3 = service.services.find((one: { service: string }) => one.service === 'Amazon S3');
    expect(s3.total).toBeCloseTo(200 * 0.023 * (7 / (730 / 24)), 1);
  });

  test.each([
    [['--files', '0', '--gib', '1', '--exports', '1'], '--files: expected a whole number from 1 on, got 0'],
    [['--files', '10'], '--files, --gib and --exports go together'],
    [['--gib', 'much', '--files', '1', '--exports', '1'], '--gib: expected a number from 0 on, got much'],
    [['--files', '1.5', '--gib', '1', '--exports', '1'], '--files: expected a whole number from 1 on, got 1.5'],
    [
      ['--files', '1', '--gib', '1000000', '--exports', '1'],
      '--gib: expected at most 48.8 TiB a file, got 1000000 GiB',
    ],
    [['--write', '--days', '7'], '--write goes with no other option'],
    [['--wish'], "Unknown option '--wish'"],
  ])('refuses %j', async (options, message) => {
    const { code, stderr } = await run(...options);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr).toContain('Usage: npm run cost');
  });
});
