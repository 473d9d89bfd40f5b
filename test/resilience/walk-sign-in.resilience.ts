import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { namesIn } from '../helpers/client-world.ts';
import { collect } from '../helpers/crypt4gh-vectors.ts';
import { LoginProvider } from '../helpers/login-provider.ts';
import { bytesOf } from '../helpers/made-files.ts';
import { files, passphrase, ResearcherWorld } from '../helpers/researcher-world.ts';
import { stepsOf, type WalkChoices } from '../helpers/walk.ts';

/** A researcher without a visa file who signs in as docs/researchers.md says, and gets from there to the decrypted files. */
const stepsBy = (runner: string) => stepsOf('docs/researchers.md', `test/resilience/${runner}.resilience.ts`);
const shared = stepsBy('walk-researcher').filter(({ name }) => name === 'wait' || name === 'decrypt');
const steps = [...stepsBy('walk-sign-in'), ...shared];

let provider: LoginProvider;
let world: ResearcherWorld;
beforeAll(async () => {
  provider = await LoginProvider.start();
  world = await ResearcherWorld.start(provider);
  provider.visas = [await world.visa()];
  provider.approves = 'jane@example.org';
  await mkdir(world.walk.path('.local/bin'), { recursive: true });
  await writeFile(world.walk.path('.local/bin/data-out'), await world.executable(), { mode: 0o755 });
  await world.walk.run('export PATH="$HOME/.local/bin:$PATH"');
});
afterAll(async () => {
  await world?.stop();
  await provider?.stop();
});

const study = (name: string) => world.walk.path('study', name);
const savedVisa = async () => (await readFile(study('visa.jwt'), 'utf8')).trim();
const choices: Readonly<Record<string, () => WalkChoices>> = {
  'set up': () => ({ answers: world.setUpAnswers }),
  wait: () => ({ anyOrder: true }),
  decrypt: () => ({ answers: [['Passphrase of', passphrase]] }),
};

test('the page signs in before anything else', () => {
  expect(steps.map(({ name }) => name)).toEqual(['login', 'set up', 'save', 'wait', 'decrypt']);
});

test.for(steps)('$title', { timeout: 120_000 }, async (step) => {
  // The administrator has the visa that the researcher saved from her sign-in.
  if (step.name === 'wait') await world.export(study('me.pub.pem'), await savedVisa());
  await world.walk.follow(step, choices[step.name ?? '']?.());
});

test('the files are decrypted by visas of the sign-in alone', async () => {
  for (const file of files) {
    expect((await readFile(study(`open/${file.saved}`))).equals(await collect(bytesOf(file)))).toBe(true);
  }
  const settings = world.walk.path('.config/data-out');
  expect(await namesIn(settings)).toEqual(expect.arrayContaining(['config.toml', 'passport.json']));
  expect(await readFile(`${settings}/config.toml`, 'utf8')).not.toContain('visa_file');
  expect(JSON.parse(await readFile(`${settings}/passport.json`, 'utf8'))).toEqual({
    ga4gh_passport_v1: provider.visas,
  });
});
