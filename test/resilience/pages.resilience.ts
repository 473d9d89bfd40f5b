import { copyFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PageWorld } from '../helpers/page-world.ts';
import { type Block, blocksOf, pages } from '../helpers/pages.ts';

/**
 * Runs the commands of docs/api.md and docs/trusted-issuers.md unchanged, on one engine and in one folder, where the later ones
 * find the files of the quickstart. The pages for operators, administrators and researchers have separate walks.
 */
const blocks = pages
  .flatMap((page) => blocksOf(page))
  .filter(({ comment }) => comment === 'run by test/resilience/pages.resilience.ts');

let world: PageWorld;
beforeAll(async () => {
  world = await PageWorld.make();
});
afterAll(() => world?.remove());

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
    section: 'Quickstart',
    async run(block) {
      const printed = await world.follow(block);
      expect(printed).toContain('"fileName":"EGAF00000000001-sample.bam.c4gh"');
      expect(printed).toContain('["EGAD00000000001"]');
      expect(printed).toContain('"fileId":"EGAF00000000001"');
      const sample = await world.file('sample.bam');
      expect(sample).toHaveLength(2_000_000);
      expect((await world.file('delivered.bam')).equals(sample)).toBe(true);
      expect((await world.file('first-mebibyte')).equals(sample.subarray(0, 1_048_576))).toBe(true);
    },
  },
  {
    page: 'docs/api.md',
    section: '`GET` and `HEAD /files/{fileId}`',
    async run(block) {
      await world.follow(block);
      const staged = await world.file('EGAF00000000001-sample.bam.c4gh');
      expect((await world.file('direct.bam.c4gh')).equals(staged)).toBe(true);
      expect((await world.file('direct.bam')).equals(await world.file('sample.bam'))).toBe(true);
    },
  },
  {
    page: 'docs/api.md',
    section: 'DRS',
    async run(block) {
      const printed = await world.follow(block);
      expect(printed).toContain('"size":2000000');
      expect(printed).toContain(`"url":"${world.connection.dataOutUrl}/files/EGAF00000000001/sample.bam"`);
    },
  },
  {
    page: 'docs/trusted-issuers.md',
    section: 'Deny a visa, a passport or a subject',
    async run(block) {
      await copyFile(world.path('visa.jwt'), world.path('stolen.jwt'));
      expect(await world.follow(block)).toContain('jane');
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
