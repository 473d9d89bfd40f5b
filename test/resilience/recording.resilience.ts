import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { shaped } from '../helpers/walk.ts';
import { recordedCommands, recordedRun } from '../recording/run.ts';
import { picturePath, shotsOf } from '../recording/svg.ts';

/** Holds the recording of a terminal to the commands of README.md, and to what they print. `npm run recording` makes it again. */
const recorded = shotsOf(readFileSync(picturePath, 'utf8'));

test("the recording has README's commands", () => {
  expect(recorded.map(({ command }) => command)).toEqual(recordedCommands());
  expect(recorded).toHaveLength(4);
});

test('a run prints what the recording shows, except what differs from run to run', async () => {
  // Files come side by side.
  const inOrder = (printed: string) => shaped(printed).split('\n').sort();
  const run = await recordedRun();
  expect(run.map(({ printed }) => inOrder(printed))).toEqual(recorded.map(({ printed }) => inOrder(printed)));
}, 120_000);
