import type { Waiting } from './api-client.ts';
import { type Applied, applyChange } from './apply-change.ts';
import { hasCode, RetirementError } from './errors.ts';
import { sameTags, versionsTagged } from './image-tags.ts';
import type { Plan } from './plan.ts';
import { brokenSuffix, type ImageVersion, isMarked, type Published, type Release } from './published.ts';
import type { Retirement } from './request.ts';

/** Times that a person is asked to mark the release before the run ends. */
const asks = 3;

/** What the steps work with. */
export interface Work {
  readonly retirement: Retirement;
  /** What the operator agreed to. A step leaves alone what differs from it now. */
  readonly plan: Plan;
  readonly published: Published;
  readonly wait: Waiting;
  /** Show what to do by hand and return when the person says it is done. @default - no person is at the terminal */
  readonly askToMark: ((instructions: readonly string[]) => Promise<void>) | undefined;
}

export interface StepResult {
  readonly step: 'image' | 'release' | 'git_tag';
  /** `done` by this run, `found_done`, or `skipped` because there never was one. */
  readonly outcome: 'done' | 'found_done' | 'skipped';
  /** For people: what was changed, and what it takes to undo it. */
  readonly detail: string;
}

/** The three steps in their only order; each begins when the one before has been proven. */
export const steps: readonly ((work: Work) => Promise<StepResult>)[] = [removeImage, markRelease, deleteGitTag];

/** The first step: delete the version that carries exactly the tag, and prove that none does. */
async function removeImage({ retirement, plan, published, wait }: Work): Promise<StepResult> {
  const { imageTag } = retirement;
  const { image } = plan;
  /** @throws RetirementError unless it is the very version of the plan, with the very tags */
  const expectPlanned = ({ id, tags }: ImageVersion) => {
    if (image?.id === id && sameTags(image.tags, tags) && tags.includes(imageTag)) return;
    const text = `version ${id} carries ${tags.join(', ') || 'no tag'} now, which is not what the plan said`;
    throw new RetirementError('changed_meanwhile', `${text}; run again to see a new plan`);
  };
  const applied = await applyChange<readonly ImageVersion[]>(
    {
      async read() {
        const found = versionsTagged(await published.versions(), imageTag);
        // Pages shift while others delete: a version that the listing does not show may have slipped between two.
        const unlisted = found.length === 0 && image ? await published.version(image.id) : undefined;
        const present = unlisted ? [unlisted] : found;
        present.forEach(expectPlanned);
        return present;
      },
      isDone: (found) => found.length === 0,
      async act([listed]) {
        // Once more, and this one alone: the pages took their time, and the tag may be on another image by now.
        const version = listed && (await published.version(listed.id));
        if (!version) return;
        expectPlanned(version);
        await published.deleteVersion(version.id);
      },
      unproven: `the platform accepted the deletion, and the tag ${imageTag} is still listed`,
    },
    wait,
  );
  const detail = image
    ? `version ${image.id} (${image.digest}) with ${image.tags.join(', ')}`
    : `no version has ${imageTag}`;
  return { step: 'image', outcome: outcomeOf(applied), detail };
}

/** The second step: append the suffix to the title, by the API or by hand, and read it. */
async function markRelease({ retirement, plan, published, wait, askToMark }: Work): Promise<StepResult> {
  const step = 'release';
  const planned = plan.release;
  if (!planned) return { step, outcome: 'skipped', detail: `there is no release entry for ${retirement.gitTag}` };
  const read = async () => {
    const release = await published.release(planned.id);
    if (release?.gitTag === planned.gitTag) return release;
    const what = release ? `has the Git tag ${release.gitTag} now` : 'is gone';
    throw new RetirementError('changed_meanwhile', `the release entry "${planned.title}" ${what}; run again`);
  };
  if (retirement.releaseMarked) {
    const { title } = await markedByHand(read, undefined, wait);
    return { step, outcome: 'found_done', detail: `"${title}"` };
  }
  try {
    const applied = await applyChange(
      {
        read,
        isDone: ({ title }) => isMarked(title),
        act: ({ title }) => published.setTitle(planned.id, `${title}${brokenSuffix}`),
        unproven: `the platform accepted the new title, and the release is still called "${planned.title}"`,
      },
      wait,
    );
    const detail = `"${applied.state.title}" (was "${planned.title}")`;
    return { step, outcome: outcomeOf(applied), detail };
  } catch (error) {
    if (!hasCode(error, 'access_denied', 'scope_missing')) throw error;
    wait.note(`the title cannot be changed with this token: ${error.message}`);
    const { title } = await markedByHand(read, askToMark, wait);
    return { step, outcome: 'done', detail: `"${title}", by hand` };
  }
}

/** The release as marked by hand, believed when its title was read. @throws RetirementError `not_marked` */
async function markedByHand(read: () => Promise<Release>, ask: Work['askToMark'], { note }: Waiting): Promise<Release> {
  let release = await read();
  // The title may hold anything: the caller makes each line printable.
  const instructions = () => [
    `1. Open ${release.url} with an account that may edit releases.`,
    '2. Press the pencil ("Edit").',
    `3. Change the release title from "${release.title}"`,
    `                            to "${release.title}${brokenSuffix}". Change nothing else.`,
    '4. Press "Update release" ("Save draft" for a draft).',
  ];
  for (let asked = 0; ask && !isMarked(release.title) && asked < asks; asked += 1) {
    if (asked > 0) note(`the title still reads "${release.title}"`);
    await ask(instructions());
    release = await read();
  }
  if (isMarked(release.title)) return release;
  for (const line of instructions()) note(line);
  throw new RetirementError(
    'not_marked',
    `the release is not marked: its title reads "${release.title}"; mark it by hand as said above, then run the same ` +
      'command again with --release-marked',
  );
}

/** The third step: delete the Git tag, and prove that it is gone. */
async function deleteGitTag({ retirement, plan, published, wait }: Work): Promise<StepResult> {
  const { gitTag } = retirement;
  const applied = await applyChange(
    {
      async read() {
        const found = await published.gitTag();
        if (!found || found.sha === plan.gitTag?.sha) return found;
        const text = `the Git tag ${gitTag} points to ${found.sha} now, which is not what the plan said`;
        throw new RetirementError('changed_meanwhile', `${text}; run again to see a new plan`);
      },
      isDone: (found) => found === undefined,
      act: () =>
        published.deleteGitTag().catch((error: unknown) => {
          if (!(error instanceof RetirementError) || error.status !== 422) throw error;
          const text = `the platform keeps the Git tag ${gitTag} (rule, protection or immutable release): ${error.message}`;
          throw new RetirementError('tag_protected', text, { status: 422, cause: error });
        }),
      unproven: `the platform accepted the deletion, and the Git tag ${gitTag} still exists`,
    },
    wait,
  );
  const detail = plan.gitTag ? `refs/tags/${gitTag} (was at ${plan.gitTag.sha})` : `there is no refs/tags/${gitTag}`;
  return { step: 'git_tag', outcome: outcomeOf(applied), detail };
}

function outcomeOf({ acted }: Applied<unknown>): 'done' | 'found_done' {
  return acted ? 'done' : 'found_done';
}
