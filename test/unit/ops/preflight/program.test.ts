import { expect, test } from 'vitest';
import { settings } from '../../../../bin/settings.ts';
import { runPreflight } from '../../../../lib/ops/preflight/program.ts';
import { awsAccount } from '../../../../lib/ops/stores/account.ts';
import { makeTestIssuer } from '../../../helpers/issuer.ts';
import { makeTerminal } from '../../../helpers/ops-world.ts';

const inputs = {
  settings,
  engineVersion: '18',
  issuers: '[]',
  missing: [] as readonly string[],
  nodeVersion: '24.1.0',
  account: () => awsAccount({ region: 'eu-north-1' }),
  templates: async () => [],
};

async function preflight(argv: readonly string[], change: Partial<typeof inputs> = {}) {
  const { terminal, said } = makeTerminal();
  const exitCode = await runPreflight(argv, terminal, { ...inputs, ...change });
  return { exitCode, ...said };
}

test('a file that the operator has not written is named: a deployment without it is refused', async () => {
  const { exitCode, stdout } = await preflight([], {
    missing: ['private/settings.ts', 'private/trusted-issuers.json'],
  });
  expect(exitCode).toBe(0);
  for (const file of ['settings.ts', 'trusted-issuers.json']) {
    const found = 'missing, so the defaults were checked';
    expect(stdout).toMatch(
      new RegExp(`^private/${file} +look +${found} +Write it before you deploy: docs/operators`, 'm'),
    );
  }
});

test('what is wrong has a remedy, and exit code 1', async () => {
  const smoke = await makeTestIssuer({ iss: 'https://smoke.example.org', entry: { purpose: 'smoke-test' } });
  const { exitCode, stdout, stderr } = await preflight(['--json'], {
    settings: { ...settings, outboxExpiryDays: 400 },
    issuers: JSON.stringify([smoke.entry]),
    nodeVersion: '22.9.0',
  });
  expect(exitCode).toBe(1);
  const results = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(results).toMatchObject([
    {
      id: 'settings',
      result: 'wrong',
      found: expect.stringContaining('outboxExpiryDays: Too big: expected number to be <=365'),
    },
    { id: 'issuers', result: 'wrong', found: expect.stringContaining('smoke_issuer_in_production') },
    { id: 'node', result: 'wrong', found: '22.9.0' },
  ]);
  for (const { remedy } of results) expect(remedy).toMatch(/\.$/);
  expect(JSON.parse(stderr.trim().split('\n').at(-1)!).error.message).toContain('3 of 3 checks are wrong');
});
