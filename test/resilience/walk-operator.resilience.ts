import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../lib/local/http.ts';
import { assembly } from '../helpers/assembly.ts';
import { makeTestIssuer } from '../helpers/issuer.ts';
import { printedAs, shaped, stepsOf, Walk, type WalkChoices, type WalkStep } from '../helpers/walk.ts';

/** An operator who follows docs/operators.md on one machine, from `npm start` to the last of the mistakes that it lists. */
const steps = stepsOf('docs/operators.md', 'test/resilience/walk-operator.resilience.ts');
const root = join(import.meta.dirname, '../..');
const passphrase = 'correct horse battery';
const gibibyte = 2 ** 30;

let walk: Walk;
/** Passwords that the tool has made, by user. */
const passwords: Record<string, string> = {};

beforeAll(async () => {
  await assembly();
  const node = (script: string) => `exec "${process.execPath}" "${root}/bin/${script}.ts" "$@"`;
  walk = await Walk.start({
    home: '/home/olga/data-out',
    stands: { '8080': String(await freePort([0])) },
    programs: {
      npm: ['/bin/sh', '-c', `shift 2; ${node('start')}`, 'npm'],
      npx: ['/bin/sh', '-c', `command=$1; shift; ${node('$command')}`, 'npx'],
    },
    tools: ['cmp', 'head'],
    env: { AWS_EC2_METADATA_DISABLED: 'true' },
  });
}, 90_000);
afterAll(() => walk?.remove());

interface Stage {
  readonly before?: () => Promise<unknown>;
  readonly choices?: () => WalkChoices;
  readonly after?: () => Promise<unknown>;
}

const asAlice = (): WalkChoices => ({ answers: [['Password', passwords.alice ?? '']] });

const stages: Readonly<Record<string, Stage>> = {
  start: { choices: () => ({ leaveAfter: 'first-steps.sh' }) },
  'archive key': {
    choices: () => ({
      answers: [
        ['assphrase', passphrase],
        ['again', passphrase],
        ['Passphrase', passphrase],
      ],
    }),
  },
  export: { choices: asAlice },
  delivery: {
    choices: () => ({
      answers: [
        ['Password', passwords.central ?? ''],
        ['Password', passwords.central ?? ''],
      ],
    }),
  },
  'no dataset': { choices: () => ({ exitCode: 4 }) },
  'empty dataset': {
    before: () =>
      walk.run(
        'npx data-out-ops archive add private/visa.jwt --dataset EGAD00000000002 --file-id EGAF00000000009\n' +
          'npx data-out-ops archive remove EGAF00000000009 --yes\n',
      ),
  },
  'Ctrl-C': {
    before: async () => {
      await writeFile(walk.path('huge.bam'), '');
      await truncate(walk.path('huge.bam'), 100 * gibibyte);
    },
    choices: () => ({ interrupt: 'huge.bam', exitCode: 130 }),
    after: async () => expect((await walk.run('npx data-out-ops archive list\n')).printed).not.toContain('huge.bam'),
  },
  'lost password': { choices: () => ({ exitCode: 9 }) },
  'not trusted': {
    before: async () => {
      const issuer = await makeTestIssuer({ iss: 'https://visas.example.org/' });
      await writeFile(walk.path('private/other.jwt'), await issuer.visa({ sub: 'jane', dataset: 'EGAD00000000001' }));
    },
    choices: () => ({ ...asAlice(), exitCode: 3 }),
  },
  port: { choices: () => ({ exitCode: 1 }) },
  'data folder': { choices: () => ({ exitCode: 1 }) },
  'no engine': { choices: () => ({ exitCode: 4 }) },
  'no region': { choices: () => ({ exitCode: 2 }) },
  'no credentials': { choices: () => ({ exitCode: 3 }) },
};

/** What a walk knows no shape of: passwords that were made, and process ids. */
const made = /(?<=\buser (\w+)\b.*, password )[\w-]{32}$|(?<=\(process )\d+/gm;

/** As `walk.follow`, and keeps the passwords. */
async function follow({ commands, printed }: WalkStep, choices: WalkChoices = {}): Promise<void> {
  const run = await walk.run(commands, choices);
  for (const [password, user] of run.printed.matchAll(made)) if (user !== undefined) passwords[user] = password;
  const masked = (text: string) => text.replaceAll(made, '…');
  expect(printedAs(masked(printed), masked(run.printed))).toBe(shaped(masked(printed)));
  expect(run.exitCode).toBe(choices.leaveAfter === undefined ? (choices.exitCode ?? 0) : undefined);
}

test.each(steps)(
  '$title',
  async (step) => {
    const stage = stages[step.name ?? ''];
    await stage?.before?.();
    await follow(step, stage?.choices?.());
    await stage?.after?.();
  },
  120_000,
);

test('every stage is of a step', () => {
  const names = steps.map(({ name }) => name);
  expect(Object.keys(stages).filter((name) => !names.includes(name))).toEqual([]);
});
