import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { formatPrivateKey, generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { namesIn } from '../helpers/client-world.ts';
import { collect } from '../helpers/crypt4gh-vectors.ts';
import { bytesOf } from '../helpers/made-files.ts';
import { refusingProxy } from '../helpers/refusing-proxy.ts';
import { files, passphrase, ResearcherWorld } from '../helpers/researcher-world.ts';
import { until } from '../helpers/service.ts';
import { stepsOf, type Walk, type WalkChoices } from '../helpers/walk.ts';

/** A researcher with a visa file who follows docs/researchers.md to its last command, and makes the mistakes of docs/troubleshooting.md. */
const steps = ['docs/researchers.md', 'docs/troubleshooting.md'].flatMap((page) =>
  stepsOf(page, 'test/resilience/walk-researcher.resilience.ts'),
);
const asked: WalkChoices['answers'] = [['Passphrase of', passphrase]];
const containers = files.map(({ saved }) => `${saved}.c4gh`);
const container = `data/${containers[0]}`;

let world: ResearcherWorld;
let walk: Walk;
let proxy: Awaited<ReturnType<typeof refusingProxy>>;
/** The environment with the client that npm has installed. */
let byNpm: Readonly<Record<string, string>> = {};
beforeAll(async () => {
  world = await ResearcherWorld.start();
  walk = world.walk;
  proxy = await refusingProxy();
});
afterAll(async () => {
  proxy?.close();
  await world?.stop();
});

const study = (...names: readonly string[]) => walk.path('study', ...names);
/** Holds that a plaintext is what was archived. */
async function expectPlaintext(name: string, file: (typeof files)[number]): Promise<void> {
  expect((await readFile(study(name))).equals(await collect(bytesOf(file)))).toBe(true);
}

/** What a step of the page needs, how the person gets on with it, and what must hold afterwards. */
interface Stage {
  /** Whether this machine allows it. */
  readonly canBe?: () => boolean;
  readonly before?: () => Promise<unknown>;
  readonly choices?: () => WalkChoices | Promise<WalkChoices>;
  readonly after?: () => Promise<unknown>;
  /** Also after a failure. */
  readonly restore?: () => Promise<unknown>;
}

/** The visa instead of the researcher's own, for one step. */
function withVisa(claims: Parameters<ResearcherWorld['visa']>[0]): Stage {
  return {
    before: async () => {
      await rename(study('visa.jwt'), study('mine'));
      await writeFile(study('visa.jwt'), await world.visa(claims), { mode: 0o600 });
    },
    restore: () => rename(study('mine'), study('visa.jwt')),
  };
}

const now = Math.floor(Date.now() / 1000);
const stages: Readonly<Record<string, Stage>> = {
  download: {
    before: async () => {
      const downloads = walk.path('Downloads');
      await mkdir(downloads);
      await writeFile(join(downloads, 'visa.jwt'), await world.visa());
      const name = 'data-out-0.1.0-linux-x64';
      const program = await world.executable();
      await writeFile(join(downloads, name), program);
      const sum = createHash('sha256').update(program).digest('hex');
      await writeFile(
        join(downloads, 'SHA256SUMS'),
        `${sum}  ${name}\n${'0'.repeat(64)}  data-out-0.1.0-win-x64.exe\n`,
      );
    },
  },
  npm: {
    before: async () => {
      byNpm = await world.pack(walk.path('Downloads'));
    },
    choices: () => ({ env: byNpm }),
  },
  'set up': {
    choices: () => ({ answers: world.setUpAnswers }),
    after: async () => expect((await stat(study('me.sec.pem'))).mode & 0o077).toBe(0),
  },
  wait: { before: () => world.export(study('me.pub.pem')), choices: () => ({ anyOrder: true }) },
  decrypt: {
    choices: () => ({ answers: asked }),
    after: async () => {
      for (const file of files) {
        await expectPlaintext(`open/${file.saved}`, file);
        expect((await stat(study('open', file.saved))).mode & 0o077).toBe(0);
      }
    },
  },
  verify: { choices: () => ({ answers: asked }) },
  'new keys': {
    choices: () => ({
      answers: [
        ['Address', ''],
        ['File with your visa', ''],
        ['User name', ''],
        ['Password', ''],
        ['File with your private key', 'new'],
        ['Name of the new key', ''],
        ['New passphrase', passphrase],
        ['again', passphrase],
      ],
    }),
    after: async () => expect(await namesIn(study())).toEqual(expect.arrayContaining(['me-2.pub.pem', 'me-2.sec.pem'])),
    // The walk goes on with the first key.
    restore: () =>
      walk.run(
        'mv old/me.sec.pem . && rm -r old me-2.*.pem && mv ~/.config/data-out/config.toml.bak ~/.config/data-out/config.toml',
      ),
  },
  doctor: { choices: () => ({ answers: asked }) },
  'visa of another person': withVisa({ subject: 'joe@example.org' }),
  'expired visa': {
    ...withVisa({ claims: { iat: now - 8 * 86_400, exp: now - 3 * 86_400 } }),
    choices: () => ({ exitCode: 3 }),
  },
  'wrong password': {
    choices: () => ({ env: { DATA_OUT_PASSWORD: 'violet-harbour-14' }, exitCode: 3 }),
  },
  'wrong host': { choices: () => ({ exitCode: 7 }) },
  'no path': { choices: () => ({ exitCode: 3 }) },
  proxy: {
    choices: () => ({
      env: { DATA_OUT_URL: 'https://data-out.example.org/v1/', HTTPS_PROXY: proxy.url },
      exitCode: 7,
    }),
  },
  'network breaks': {
    before: async () => {
      await rm(study('data'), { recursive: true });
      world.faults.break({ on: 'storage', path: /genome/, fault: { kind: 'cut', bytes: 1_000_000 } });
    },
    choices: () => ({ anyOrder: true }),
  },
  'network gone': {
    before: async () => {
      await rm(study('data'), { recursive: true });
      world.faults.break({ on: 'storage', path: /genome/, fault: { kind: 'refuse' }, times: 1000 });
    },
    // An executable ignores NODE_OPTIONS.
    choices: () => ({ env: { ...byNpm, NODE_OPTIONS: fastPauses }, exitCode: 5, anyOrder: true }),
  },
  stopped: {
    before: async () => {
      await rm(study('data'), { recursive: true });
      world.faults.break({ on: 'storage', path: /genome/, fault: { kind: 'stall', bytes: 1_000_000 }, times: 1000 });
    },
    choices: () => ({ interrupt: stalled, exitCode: 130, anyOrder: true }),
  },
  continues: {
    choices: () => ({ anyOrder: true }),
    after: async () => {
      expect(await namesIn(study('data'))).toEqual(expect.arrayContaining(containers));
      expect((await namesIn(study('data'))).filter((name) => name.includes('.part'))).toEqual([]);
    },
  },
  'full disk': {
    canBe: () => world.smallDisk(),
    choices: () => ({ exitCode: 5, anyOrder: true }),
  },
  'file exists': {
    before: () => writeFile(study(container), 'notes of mine'),
    choices: () => ({ exitCode: 5, anyOrder: true }),
    after: async () => expect(await readFile(study(container), 'utf8')).toBe('notes of mine'),
    restore: () => walk.run('data-out download --all -o data --force'),
  },
  'wrong passphrase': {
    choices: () => ({
      answers: Array.from({ length: 3 }, () => ['Passphrase of', 'correct house battery']),
      exitCode: 3,
    }),
  },
  'other key': {
    before: async () => {
      const { privateKey } = generateKeyPair();
      await writeFile(study('old.sec.pem'), await formatPrivateKey(privateKey), { mode: 0o600 });
    },
    choices: () => ({ exitCode: 3 }),
  },
  damaged: {
    before: () => truncate(study(container), 100_000),
    choices: () => ({ answers: asked, exitCode: 8 }),
  },
};

/** The small files exist, and the large one comes no further. */
const stalled = () =>
  until(async () => {
    const names = await namesIn(study('data')).catch((): string[] => []);
    const passed = world.faults.requests.some(({ path, bytes }) => path.includes('genome') && bytes >= 1_000_000);
    return passed && containers.slice(0, 2).every((name) => names.includes(name)) ? true : undefined;
  }, 'the large file to stall');

/** Waits of the client take a hundredth of their time. */
const fastPauses = `--import=data:text/javascript,${encodeURIComponent(
  `import timers from 'node:timers/promises'; import { syncBuiltinESMExports } from 'node:module';
   const { setTimeout } = timers; timers.setTimeout = (ms, ...more) => setTimeout(ms / 100, ...more); syncBuiltinESMExports();`,
)}`;

test('each stage belongs to a step of the page', () => {
  expect(Object.keys(stages).filter((name) => !steps.some((step) => step.name === name))).toEqual([]);
  expect(steps.filter(({ name }) => name !== undefined && !(name in stages)).map(({ name }) => name)).toEqual([]);
});

test.for(steps)('$title', { timeout: 120_000 }, async (step, { skip }) => {
  const { canBe, before, choices, after, restore } = stages[step.name ?? ''] ?? {};
  if (canBe?.() === false) skip('needs the right to mount a small disk');
  await before?.();
  try {
    await walk.follow(step, await choices?.());
    await after?.();
  } finally {
    world.faults.reset();
    await restore?.();
  }
});
