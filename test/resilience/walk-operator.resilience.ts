import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../lib/local/http.ts';
import { assembly } from '../helpers/assembly.ts';
import { printedAs, shaped, stepsOf, Walk, type WalkChoices, type WalkStep } from '../helpers/walk.ts';

/** An operator who follows docs/operators.md on one machine, and then makes mistakes. */
const steps = stepsOf('docs/operators.md', 'test/resilience/walk-operator.resilience.ts');
const root = join(import.meta.dirname, '../..');
const passphrase = 'correct horse battery';

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
    tools: ['cmp', 'env', 'head'],
    env: { AWS_EC2_METADATA_DISABLED: 'true' },
  });
}, 90_000);
afterAll(() => walk?.remove());

const asAlice = (): WalkChoices => ({ answers: [['Password', passwords.alice ?? '']] });

/** What is typed at the steps of the page, by their names. */
const choices: Readonly<Record<string, () => WalkChoices>> = {
  start: () => ({ leaveAfter: 'first-steps.sh' }),
  'archive key': () => ({
    answers: [
      ['assphrase', passphrase],
      ['again', passphrase],
      ['Passphrase', passphrase],
    ],
  }),
  export: asAlice,
  delivery: () => ({
    answers: [
      ['Password', passwords.central ?? ''],
      ['Password', passwords.central ?? ''],
    ],
  }),
};

/** What a walk knows no shape of: passwords that were made, and process ids. */
const made = /(?<=\buser (\w+)\b.*, password )[\w-]{32}$|(?<=\(process )\d+/gm;

/** As `walk.follow`, and keeps the passwords. */
async function follow({ commands, printed, name = '' }: WalkStep): Promise<void> {
  const chosen = choices[name]?.() ?? {};
  const run = await walk.run(commands, chosen);
  for (const [password, user] of run.printed.matchAll(made)) if (user !== undefined) passwords[user] = password;
  const masked = (text: string) => text.replaceAll(made, '…');
  expect(printedAs(masked(printed), masked(run.printed))).toBe(shaped(masked(printed)));
  expect(run.exitCode).toBe(chosen.leaveAfter === undefined ? 0 : undefined);
}

test.each(steps)('$title', (step) => follow(step), 120_000);

test('every choice is of a step', () => {
  const names = steps.map(({ name }) => name);
  expect(Object.keys(choices).filter((name) => !names.includes(name))).toEqual([]);
});

/** Commands, what they print in the end, and their exit code. */
const mistakes: readonly (readonly [commands: string, says: string, exitCode: number])[] = [
  [
    'npx data-out-ops dataset release EGAD00000000009',
    'data-out-ops: there is no dataset EGAD00000000009: data-out-ops dataset list shows the datasets',
    4,
  ],
  [
    `npx data-out-ops archive add private/visa.jwt --dataset EGAD00000000002 --file-id EGAF00000000009
npx data-out-ops archive remove EGAF00000000009 --yes
npx data-out-ops dataset release EGAD00000000002`,
    `EGAD00000000002 is released (0 files, 0 B)
warning: the dataset has no files, so an export of it is rejected: data-out-ops archive add`,
    0,
  ],
  [
    'npx data-out-ops admin add alice --generate',
    'data-out-ops: there is a user alice; --replace gives another password and roles',
    9,
  ],
  ['npm start -- --port 8080', 'port 8080 is taken; choose another one with --port', 1],
  [
    'npm start -- --data-dir private/state',
    '/home/olga/data-out/private/state is in use by another engine (process …): end it, or name another folder with --data-dir',
    1,
  ],
  [
    'env --unset DATA_OUT_CONNECTION npx data-out-ops dataset list',
    'data-out-ops: no local engine runs from this folder: there is no /home/olga/data-out/.local/connection.json. Start one with npm start, name its file with --connection or DATA_OUT_CONNECTION, or say --aws',
    4,
  ],
  [
    'npx data-out-ops --aws dataset list',
    'data-out-ops: --region: there is no valid region: say one, or set AWS_REGION',
    2,
  ],
  [
    'npx data-out-ops --aws --region eu-north-1 dataset list',
    `data-out-ops: there are no valid AWS credentials: CredentialsProviderError
Log in, for example with aws sso login, and check AWS_PROFILE. Then repeat the command.`,
    3,
  ],
];

test.each(mistakes)('%s', { timeout: 120_000 }, async (commands, says, exitCode) => {
  const run = await walk.run(`${commands}\n`);
  const printed = run.printed.replaceAll(made, '…').trim().split('\n').slice(-says.split('\n').length);
  expect([printed.join('\n'), run.exitCode]).toEqual([says, exitCode]);
});
