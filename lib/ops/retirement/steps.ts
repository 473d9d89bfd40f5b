import type { Timing } from '../../common/timing.ts';
import { type Applied, applyChange } from './apply-change.ts';
import { type ChecklistPoint, checklist } from './checklist.ts';
import { RetirementError } from './errors.ts';
import { type ImageVersion, sameTags, versionsTagged } from './image-tags.ts';
import { markedByHand } from './mark-by-hand.ts';
import type { Plan } from './plan.ts';
import { readPublished } from './published-state.ts';
import type { Registry } from './registry.ts';
import { brokenSuffix, isMarked, type Repository } from './repository.ts';
import type { Retirement } from './request.ts';

/** What the steps work with. */
export interface Work {
  readonly retirement: Retirement;
  /** What the operator agreed to. A step leaves alone what differs from it now. */
  readonly plan: Plan;
  readonly registry: Registry;
  readonly repository: Repository;
  readonly timing: Timing;
  readonly signal: AbortSignal;
  readonly maxWaitSeconds: number;
  readonly note: (text: string) => void;
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
export const steps = [removeImage, markRelease, deleteGitTag] as const;

/** The first step: delete the version that carries exactly the tag, and prove that none does. */
async function removeImage(work: Work): Promise<StepResult> {
  const { retirement, plan, registry } = work;
  const { imageTag } = retirement;
  const applied = await applyChange<readonly ImageVersion[]>(
    {
      async read() {
        const found = versionsTagged(await registry.versions(), imageTag);
        // Pages shift while others delete: a version that the listing does not show may have slipped between two.
        const unlisted = found.length === 0 && plan.image ? await registry.version(plan.image.id) : undefined;
        const present = unlisted ? [unlisted] : found;
        for (const version of present) expectPlanned(version, work);
        return present;
      },
      isDone: (found) => found.length === 0,
      async act([image]) {
        // Once more, and this one alone: the pages took their time, and the tag may be on another image by now.
        const version = image && (await registry.version(image.id));
        if (!version) return;
        expectPlanned(version, work);
        await registry.deleteVersion(version.id);
      },
      unproven: () => `the platform accepted the deletion, and the tag ${imageTag} is still listed`,
    },
    work,
  );
  const { image } = plan;
  const detail = image
    ? `version ${image.id} (${image.digest}) with ${image.tags.join(', ')}`
    : `no version has ${imageTag}`;
  return { step: 'image', outcome: outcomeOf(applied), detail };
}

/** @throws RetirementError `changed_meanwhile` unless it is the very version of the plan, with the very tags */
function expectPlanned(version: ImageVersion, { plan, retirement }: Work): void {
  const planned = plan.image;
  if (
    planned?.id === version.id &&
    sameTags(planned.tags, version.tags) &&
    version.tags.includes(retirement.imageTag)
  ) {
    return;
  }
  const text = `version ${version.id} carries ${version.tags.join(', ') || 'no tag'} now, which is not what the plan said`;
  throw new RetirementError('changed_meanwhile', `${text}; run again to see a new plan`);
}

/** The second step: append the suffix to the title, by the API or by hand, and read it. */
async function markRelease(work: Work): Promise<StepResult> {
  const { plan, repository, retirement } = work;
  const planned = plan.release;
  if (!planned)
    return { step: 'release', outcome: 'skipped', detail: `there is no release entry for ${retirement.gitTag}` };
  const read = async () => {
    const release = await repository.release(planned.id);
    if (release?.gitTag === planned.gitTag) return release;
    const what = release ? `has the Git tag ${release.gitTag} now` : 'is gone';
    throw new RetirementError('changed_meanwhile', `the release entry "${planned.title}" ${what}; run again`);
  };
  if (retirement.releaseMarked) {
    const release = await markedByHand({ release: await read(), read, ask: undefined, note: work.note });
    return { step: 'release', outcome: 'found_done', detail: `"${release.title}"` };
  }
  try {
    const applied = await applyChange(
      {
        read,
        isDone: ({ title }) => isMarked(title),
        act: ({ title }) => repository.setTitle(planned.id, `${title}${brokenSuffix}`),
        unproven: () => `the platform accepted the new title, and the release is still called "${planned.title}"`,
      },
      work,
    );
    return {
      step: 'release',
      outcome: outcomeOf(applied),
      detail: `"${applied.state.title}" (was "${planned.title}")`,
    };
  } catch (error) {
    if (!isDenied(error)) throw error;
    work.note(`the title cannot be changed with this token: ${error.message}`);
    const release = await markedByHand({ release: await read(), read, ask: work.askToMark, note: work.note });
    return { step: 'release', outcome: 'done', detail: `"${release.title}", by hand` };
  }
}

function isDenied(error: unknown): error is RetirementError {
  return error instanceof RetirementError && (error.code === 'access_denied' || error.code === 'scope_missing');
}

/** The third step: delete the Git tag, and prove that it is gone. */
async function deleteGitTag(work: Work): Promise<StepResult> {
  const { retirement, plan, repository } = work;
  const { gitTag } = retirement;
  const applied = await applyChange(
    {
      async read() {
        const found = await repository.gitTag(gitTag);
        if (found && found.sha !== plan.gitTag?.sha) {
          const text = `the Git tag ${gitTag} points to ${found.sha} now, which is not what the plan said`;
          throw new RetirementError('changed_meanwhile', `${text}; run again to see a new plan`);
        }
        return found;
      },
      isDone: (found) => found === undefined,
      async act() {
        await repository.deleteGitTag(gitTag).catch((error: unknown) => {
          if (!(error instanceof RetirementError) || error.status !== 422) throw error;
          const text = `the platform keeps the Git tag ${gitTag} (rule, protection or immutable release): ${error.message}`;
          throw new RetirementError('tag_protected', text, { status: 422, cause: error });
        });
      },
      unproven: () => `the platform accepted the deletion, and the Git tag ${gitTag} is still there`,
    },
    work,
  );
  const was = plan.gitTag ? `refs/tags/${gitTag} (was at ${plan.gitTag.sha})` : `there is no refs/tags/${gitTag}`;
  return { step: 'git_tag', outcome: outcomeOf(applied), detail: was };
}

function outcomeOf({ acted }: Applied<unknown>): 'done' | 'found_done' {
  return acted ? 'done' : 'found_done';
}

/**
 * Carry a plan out: remove the image, mark the release, delete the Git tag, then read everything once more.
 * @param onStep called after each step, with what is then proven: a run that stops half-way has told this much
 * @throws RetirementError
 */
export async function retire(
  work: Work,
  teamTold: boolean,
  onStep: (result: StepResult) => void,
): Promise<readonly ChecklistPoint[]> {
  const [obstacle] = work.plan.obstacles;
  if (obstacle) throw obstacle;
  for (const step of steps) onStep(await step(work));
  const points = checklist(
    work.retirement,
    await readPublished(work.retirement, work.registry, work.repository),
    teamTold,
  );
  const open = points.find(({ point, done }) => point !== 'team_told' && !done);
  if (open) throw new RetirementError('not_proven', `at the end this does not hold: ${open.text}; run again`);
  return points;
}
