import { randomBytes } from 'node:crypto';
import { copyFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { container, PageWorld, type Person, sample } from '../helpers/page-world.ts';
import { type Block, blocksOf, pages } from '../helpers/pages.ts';
import { until } from '../helpers/service.ts';

/**
 * Runs the commands of docs/api.md and docs/trusted-issuers.md unchanged, on one engine. The pages for
 * operators, administrators and researchers have separate walks.
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

let world: PageWorld;
beforeAll(async () => {
  world = await PageWorld.make();
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
    section: 'Quickstart',
    async run(block) {
      await world.give(['visa.jwt', 'me.pub.pem', 'me.sec.pem'], 'researcher', 'program');
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
      expect(await world.file('program/sample.bam')).toEqual(sample);
    },
  },
  {
    page: 'docs/api.md',
    section: 'A plaintext above 200 MB',
    async run(block) {
      // The commands are the same for a smaller one. shared/openapi.resilience.ts shows the 413 of a larger one.
      const genome = randomBytes(12_000_000);
      await writeFile(world.path('operator/genome.bam'), genome);
      const add = 'npx data-out-ops archive add genome.bam --dataset EGAD00000000001 --file-id EGAF00000000002\n';
      await world.follow({ text: add }, 'operator');
      await world.follow(block, 'program');
      expect((await world.file('program/genome.bam')).equals(genome)).toBe(true);
    },
  },
  {
    page: 'docs/api.md',
    section: 'DRS',
    async run(block) {
      const printed = await world.follow(block, 'program', {
        VISA: (await world.file('program/visa.jwt')).toString().trim(),
      });
      expect(printed).toContain('"size":200000');
      expect(printed).toContain(`"url":"${world.connection.dataOutUrl}/files/EGAF00000000001/sample.bam"`);
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
