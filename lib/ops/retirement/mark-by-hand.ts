import { RetirementError } from './errors.ts';
import { brokenSuffix, isMarked, type Release } from './repository.ts';

/** Times that a person is asked before the run ends. */
const asks = 3;

/** What to click, line by line. The title may hold anything: the caller makes each line printable. */
function markingInstructions(release: Release): readonly string[] {
  return [
    `1. Open ${release.url} with an account that may edit releases.`,
    '2. Press the pencil ("Edit").',
    `3. Change the release title from "${release.title}"`,
    `                            to "${release.title}${brokenSuffix}". Change nothing else.`,
    '4. Press "Update release" ("Save draft" for a draft).',
  ];
}

/**
 * The release as marked by hand, believed when its title was read.
 * @param ask shows the instructions and returns when the person says it is done; `undefined` without a person at the terminal
 * @throws RetirementError `not_marked`
 */
export async function markedByHand(step: {
  readonly release: Release;
  readonly read: () => Promise<Release>;
  readonly ask: ((instructions: readonly string[]) => Promise<void>) | undefined;
  readonly note: (text: string) => void;
}): Promise<Release> {
  let { release } = step;
  for (let asked = 0; step.ask && !isMarked(release.title) && asked < asks; asked += 1) {
    if (asked > 0) step.note(`the title still reads "${release.title}"`);
    await step.ask(markingInstructions(release));
    release = await step.read();
  }
  if (isMarked(release.title)) return release;
  for (const line of markingInstructions(release)) step.note(line);
  throw new RetirementError(
    'not_marked',
    `the release is not marked: its title reads "${release.title}"; mark it by hand as said above, then run the same ` +
      'command again with --release-marked',
  );
}
