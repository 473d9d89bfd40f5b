import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { formatPrivateKey, formatPublicKey, generateKeyPair } from '../../lib/crypt4gh/index.ts';
import { container, PageWorld, type Person, sample } from '../helpers/page-world.ts';
import { type Block, blocksOf, pages } from '../helpers/pages.ts';
import { until } from '../helpers/service.ts';

/**
 * Runs the commands of docs/api.md, docs/client.md, docs/drs.md and docs/trusted-issuers.md as they stand there, on one
 * engine. The pages for operators, administrators and researchers have walks of their own.
 */
const blocks = pages
  .flatMap((page) => blocksOf(page))
  .filter(({ comment }) => comment === 'run by test/resilience/pages.resilience.ts');

/** What the pages expect to be there. */
const asOperator = `
npx data-out-ops admin add alice --generate
npx data-out-ops user add central --generate
npx data-out-ops archive add sample.bam --dataset EGAD00000000001 --file-id EGAF00000000001
npx data-out-ops dataset release EGAD00000000001
npx data-out-ops visa issue --subject me@example.org --dataset EGAD00000000001 > visa.jwt
`;

/** What matches the patterns of the page. */
const moreFiles = `
npx data-out-ops archive add sample.bam --dataset EGAD00000000002 --file-id EGAF00010000001 --path a.bam
npx data-out-ops archive add sample.bam --dataset EGAD00000000002 --file-id EGAF00010000002 --path study1.cram
npx data-out-ops dataset release EGAD00000000002
npx data-out-ops visa issue --subject me@example.org --dataset EGAD00000000002 > more.jwt
data-out export EGAD00000000002 --visa more.jwt --public-key me.pub.pem --username alice --wait
`;

let world: PageWorld;
beforeAll(async () => {
  world = await PageWorld.make();
  await world.startEngine(['--port', '8080', '--data-dir', 'state']);
  const printed = await world.follow({ text: asOperator }, 'operator');
  for (const name of ['alice', 'central'] as const) {
    world.passwords[name] = new RegExp(`${name}.*password (\\S+)`).exec(printed)?.[1] ?? '';
    expect(world.passwords[name].length).toBeGreaterThan(15);
  }
  await world.give(['visa.jwt'], 'operator', 'researcher');
  await world.follow({ text: 'data-out keys generate me\n' }, 'researcher');
  await world.give(['me.pub.pem'], 'researcher', 'operator');
});
afterAll(() => world?.remove());

/** Wait until the researcher's listing has the exported file. */
async function staged(): Promise<void> {
  const list = { text: 'data-out list --json\n' };
  await until(
    async () => ((await world.follow(list, 'researcher', world.researcher())).includes(container) ? true : undefined),
    'the export to be staged',
  );
}

/** Bytes of a file of a person, decrypted with the key of the researcher. */
async function plaintextOf(person: Person, name: string): Promise<Buffer> {
  const text = `data-out decrypt --key ../researcher/me.sec.pem -o plain --force ${name}\n`;
  await world.follow({ text }, person);
  return await world.file(person, 'plain');
}

interface Step {
  readonly page: string;
  readonly section: string;
  /** Which of the section's blocks, from 0. */
  readonly index?: number;
  readonly run: (block: Block) => Promise<void>;
}

const steps: readonly Step[] = [
  {
    page: 'docs/api.md',
    section: '`POST /export/{archive_kind}`',
    async run(block) {
      const reply = JSON.parse(await world.follow(block, 'operator', world.administrator()));
      expect(reply).toMatchObject({ requestId: expect.stringMatching(/^[0-9a-f-]{36}$/) });
      await staged();
    },
  },
  {
    page: 'docs/api.md',
    section: '`GET` and `HEAD /stream/{file}`',
    async run(block) {
      expect(await world.follow(block, 'researcher', world.researcher())).toContain(container);
      expect(await plaintextOf('researcher', container)).toEqual(sample);
    },
  },
  {
    page: 'docs/api.md',
    section: 'The API',
    async run(block) {
      await world.give(['visa.jwt', 'me.pub.pem'], 'researcher', 'program');
      const printed = await world.follow(block, 'program');
      expect(printed).toContain('["EGAD00000000001"]');
      expect(printed).toContain('"fileId":"EGAF00000000001"');
      expect((await world.file('program/first-mebibyte')).equals(sample)).toBe(true);
    },
  },
  {
    page: 'docs/api.md',
    section: '`GET` and `HEAD /files/{fileId}`',
    async run(block) {
      await world.follow(block, 'program');
      expect((await world.file('program/sample.bam.c4gh')).equals(await world.file('researcher', container))).toBe(
        true,
      );
    },
  },
  {
    page: 'docs/drs.md',
    section: 'GA4GH DRS',
    async run(block) {
      const printed = await world.follow(block, 'program', {
        VISA: (await world.file('program/visa.jwt')).toString().trim(),
      });
      expect(printed).toContain('"size":200000');
      expect(printed).toContain(`"url":"${world.connection.dataOutUrl}/files/EGAF00000000001/sample.bam"`);
    },
  },
  {
    page: 'docs/client.md',
    section: 'Keys',
    async run(block) {
      await writeFile(world.path('keys/new'), 'another one');
      const text = block.text.replace(/(passwd me\.sec\.pem)/, '$1 --new-passphrase-file new');
      expect(await world.follow({ ...block, text }, 'keys')).toContain('PUBLIC KEY');
    },
  },
  {
    page: 'docs/client.md',
    section: 'List',
    run: async (block) => expect(await world.follow(block, 'researcher', world.researcher())).toContain(container),
  },
  {
    page: 'docs/client.md',
    section: 'Download',
    async run(block) {
      await world.follow({ text: moreFiles }, 'operator', world.administrator());
      await world.give(['visa.jwt', 'me.sec.pem'], 'researcher', 'downloads');
      await world.follow(block, 'downloads', world.researcher());
      expect(world.here('downloads/data', container) && world.here('downloads/EGAF00010000001-a.bam.c4gh')).toBe(true);
      expect((await world.file('downloads/EGAF00010000002-study1.cram')).equals(sample)).toBe(true);
    },
  },
  {
    page: 'docs/client.md',
    section: 'Fetch',
    async run(block) {
      await world.give(['visa.jwt', 'me.pub.pem'], 'researcher', 'fetched');
      await world.follow(block, 'fetched', world.researcher());
      expect((await world.file('fetched/sample.bam')).equals(sample)).toBe(true);
    },
  },
  {
    page: 'docs/client.md',
    section: 'Local files',
    async run(block) {
      const bob = generateKeyPair();
      await world.give(['me.sec.pem', 'me.pub.pem'], 'researcher', 'reader');
      await writeFile(world.path('reader/alice.pub.pem'), formatPublicKey(generateKeyPair().publicKey));
      await writeFile(world.path('reader/bob.pub.pem'), formatPublicKey(bob.publicKey));
      await writeFile(world.path('reader/bob.sec.pem'), await formatPrivateKey(bob.privateKey), { mode: 0o600 });
      await writeFile(world.path('reader/sample.bam'), sample);
      await world.follow(block, 'reader');
      expect(['sample.bam.c4gh', 'from-me.c4gh', 'head.c4gh'].filter((name) => !world.here('reader', name))).toEqual(
        [],
      );
    },
  },
  {
    page: 'docs/client.md',
    section: 'Local files',
    index: 1,
    async run(block) {
      const fromBob = 'data-out encrypt --key bob.sec.pem -r me.pub.pem --force sample.bam; rm sample.bam\n';
      const inFolder = 'mkdir data; cp sample.bam.c4gh data/\n';
      await world.follow({ ...block, text: `${fromBob}${inFolder}` }, 'reader');
      await world.follow(block, 'reader');
      expect((await world.file('reader/sample.bam')).equals(sample)).toBe(true);
      for (const name of ['from-bob.bam', 'open/sample.bam']) {
        expect((await world.file(`reader/${name}`)).equals(sample)).toBe(true);
      }
      expect((await world.file('reader/head')).equals(sample.subarray(0, 65_536))).toBe(true);
      expect(world.here('reader', 'for-bob.c4gh')).toBe(true);
    },
  },
  {
    page: 'docs/client.md',
    section: 'Doctor',
    run: async (block) =>
      expect(await world.follow(block, 'researcher', world.researcher())).toMatch(/^ok +header .*me\.sec\.pem/m),
  },
  {
    page: 'docs/client.md',
    section: 'Export (administrators)',
    async run(block) {
      await copyFile(world.path('researcher/visa.jwt'), world.path('batch/jane.jwt'));
      await copyFile(world.path('researcher/me.pub.pem'), world.path('batch/jane.pub.pem'));
      // The engine's own administrator has the name that the page uses.
      const more = { ...world.administrator(), DATA_OUT_ADMIN_PASSWORD: world.connection.admin.password };
      expect(await world.follow(block, 'batch', more)).toMatch(/[0-9a-f-]{36}/);
    },
  },
  {
    page: 'docs/client.md',
    section: 'Export (administrators)',
    index: 1,
    async run(block) {
      const csv = blocksOf('docs/client.md').find(({ language }) => language === 'csv');
      await writeFile(world.path('batch/recipients.csv'), csv?.text ?? '');
      for (const folder of ['visas', 'keys']) await mkdir(world.path('batch', folder));
      for (const name of ['jane', 'joe']) {
        await copyFile(world.path('researcher/visa.jwt'), world.path(`batch/visas/${name}.jwt`));
        await copyFile(world.path('researcher/me.pub.pem'), world.path(`batch/keys/${name}.pub.pem`));
      }
      await world.follow(block, 'batch', { ...world.administrator(), DATA_OUT_ADMIN_USERNAME: 'alice' });
      expect((await world.file('batch/recipients.csv.results.jsonl')).toString().trim().split('\n')).toHaveLength(2);
    },
  },
  {
    page: 'docs/client.md',
    section: 'Completion',
    async run(block) {
      await mkdir(world.path('shell/.config/fish/completions'), { recursive: true });
      await world.follow({ ...block, text: `fpath=(zsh .)\n${block.text}` }, 'shell');
      const written = await Promise.all(
        ['.bashrc', '_data-out', '.config/fish/completions/data-out.fish'].map((name) => world.file('shell', name)),
      );
      for (const text of written) expect(text.toString()).toContain('data-out');
    },
  },
  {
    page: 'docs/trusted-issuers.md',
    section: 'Deny a visa, a passport or a subject',
    async run(block) {
      await copyFile(world.path('operator/visa.jwt'), world.path('operator/stolen.jwt'));
      expect(await world.follow(block, 'operator')).toContain('jane');
    },
  },
];

const blockOf = ({ page, section, index = 0 }: Step) =>
  blocks.filter((block) => block.page === page && block.section === section)[index];

test('this suite has each block that names it, once', () => {
  const line = (block: Block | undefined) => `${block?.page}:${block?.line}`;
  expect(steps.map((step) => line(blockOf(step))).sort()).toEqual(blocks.map(line).sort());
});

test.each(steps)(
  '$page, $section',
  async (step) => {
    const block = blockOf(step);
    if (block === undefined) throw new Error('no such block');
    await step.run(block);
  },
  120_000,
);
