import type { Timing } from '../../common/timing.ts';
import { hasCode, OpsError } from '../errors.ts';
import { type Plan, sameTags } from './plan.ts';
import { brokenSuffix, type ImageVersion, isMarked, type Published, tagged } from './published.ts';
import type { Retirement } from './request.ts';

/** Seconds before each look for a change that was sent. */
const delays = [0, 1, 2, 4, 8] as const;

/** What the steps work with. */
export interface Work {
  readonly retirement: Retirement;
  /** What the operator agreed to. A step leaves alone what differs from it now. */
  readonly plan: Plan;
  readonly published: Published;
  readonly timing: Timing;
  readonly signal: AbortSignal;
  readonly note: (text: string) => void;
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

/**
 * Look; when it is not done, act once and look until it shows. The effect of a write whose answer was lost is also found so.
 * @param read what is left to do, as it is now; `undefined` when nothing is
 * @param unproven what to say when the platform said yes and it still does not show
 * @throws OpsError what refused the change, or `not_proven`
 */
async function apply<Left>(
  { timing, signal }: Work,
  read: () => Promise<Left | undefined>,
  act: (left: Left) => Promise<void>,
  unproven: string,
): Promise<'done' | 'found_done'> {
  const left = await read();
  if (left === undefined) return 'found_done';
  const failure = await act(left).then(
    () => undefined,
    (error: unknown) => error,
  );
  signal.throwIfAborted();
  if (hasCode(failure, 'changed_meanwhile')) throw failure;
  for (const delay of failure === undefined ? delays : [0]) {
    if (delay > 0) await timing.sleep(delay * 1000, signal);
    if ((await read()) === undefined) return 'done';
  }
  throw failure ?? new OpsError('not_proven', unproven);
}

function changed(text: string): OpsError {
  return new OpsError('changed_meanwhile', `${text} now, which is not what the plan said; run again`);
}

/** The first step: delete the version that carries exactly the tag, and prove that none does. */
async function removeImage(work: Work): Promise<StepResult> {
  const { published, retirement } = work;
  const { imageTag } = retirement;
  const { image } = work.plan;
  /** @throws OpsError unless it is the very version of the plan, with the very tags */
  const expectPlanned = ({ id, tags }: ImageVersion) => {
    if (image?.id === id && sameTags(image.tags, tags) && tags.includes(imageTag)) return;
    throw changed(`version ${id} carries ${tags.join(', ') || 'no tag'}`);
  };
  const read = async () => {
    const found = tagged(await published.versions(), imageTag);
    // Pages shift while others delete: a version that the listing does not show may have slipped between two.
    const unlisted = found.length === 0 && image ? await published.version(image.id) : undefined;
    const present = unlisted ? [unlisted] : found;
    present.forEach(expectPlanned);
    return present[0];
  };
  const act = async ({ id }: ImageVersion) => {
    // Once more, and this one alone: the pages took their time, and the tag may be on another image by now.
    const version = await published.version(id);
    if (!version) return;
    expectPlanned(version);
    await published.deleteVersion(id);
  };
  const unproven = `the platform accepted the deletion, and the tag ${imageTag} is still listed`;
  const outcome = await apply(work, read, act, unproven);
  const detail = image
    ? `version ${image.id} (${image.digest}) with ${image.tags.join(', ')}`
    : `no version has ${imageTag}`;
  return { step: 'image', outcome, detail };
}

/** The second step: append the suffix to the title. Where the token may not, say what a person does; the next run looks. */
async function markRelease(work: Work): Promise<StepResult> {
  const { published, retirement, note } = work;
  const step = 'release';
  const planned = work.plan.release;
  if (!planned) return { step, outcome: 'skipped', detail: `there is no release entry for ${retirement.gitTag}` };
  const title = work.plan.newTitle ?? planned.title;
  const read = async () => {
    const release = await published.release(planned.id);
    if (release?.gitTag !== planned.gitTag) {
      throw changed(
        `the release entry "${planned.title}" ${release ? `has the Git tag ${release.gitTag}` : 'is gone'}`,
      );
    }
    return isMarked(release.title) ? undefined : release;
  };
  const act = (release: { readonly title: string }) =>
    published.setTitle(planned.id, `${release.title}${brokenSuffix}`);
  const unproven = `the platform accepted the new title, and the release is still called "${planned.title}"`;
  const outcome = await apply(work, read, act, unproven).catch((cause: unknown) => {
    if (!hasCode(cause, 'access_denied', 'scope_missing')) throw cause;
    note(`1. Open ${planned.url} with an account that may edit releases.`);
    note('2. Press the pencil ("Edit").');
    note(`3. Change the release title from "${planned.title}" to "${title}", and nothing else.`);
    note('4. Press "Update release" ("Save draft" for a draft).');
    const text = `${cause.message}. Change the title by hand as said above, then run the same command again`;
    throw new OpsError('not_marked', text, { cause });
  });
  return { step, outcome, detail: outcome === 'done' ? `"${title}" (was "${planned.title}")` : `"${title}"` };
}

/** The third step: delete the Git tag, and prove that it is gone. */
async function deleteGitTag(work: Work): Promise<StepResult> {
  const { published, plan } = work;
  const { gitTag } = work.retirement;
  const read = async () => {
    const found = await published.gitTag();
    if (found && found.sha !== plan.gitTag?.sha) throw changed(`the Git tag ${gitTag} points to ${found.sha}`);
    return found;
  };
  const unproven = `the platform accepted the deletion, and the Git tag ${gitTag} still exists`;
  const outcome = await apply(work, read, () => published.deleteGitTag(), unproven);
  const detail = plan.gitTag ? `refs/tags/${gitTag} (was at ${plan.gitTag.sha})` : `there is no refs/tags/${gitTag}`;
  return { step: 'git_tag', outcome, detail };
}
