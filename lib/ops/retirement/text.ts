import { printable } from '../../terminal/output.ts';
import { otherTags } from './image-tags.ts';
import type { Plan } from './plan.ts';
import { isMarked, type PublishedState } from './published.ts';
import type { Retirement } from './request.ts';
import type { StepResult } from './steps.ts';

/** The plan in words. Titles and tags come from the platform, so they are made printable. */
export function planText(retirement: Retirement, plan: Plan): string {
  const { component, version, replacement, org, repository, gitTag } = retirement;
  const tag = plan.gitTag
    ? `delete refs/tags/${gitTag}, which is at ${plan.gitTag.sha}`
    : `done: there is no refs/tags/${gitTag}`;
  const lines = [
    `Retire ${component} ${version} of ${org}/${repository} (package ${retirement.package}), in favour of ${replacement}:`,
    `  1. image    ${imageText(retirement, plan)}`,
    `  2. release  ${releaseText(retirement, plan)}`,
    `  3. Git tag  ${tag}`,
    `  use instead ${plan.replacement ? `${retirement.replacementImageTag}, version ${plan.replacement.id}` : '?'}`,
    ...plan.warnings.map((warning) => `  warning: ${warning}`),
    ...plan.obstacles.map(({ message }) => `  in the way: ${message}`),
  ];
  return lines.map(printable).join('\n');
}

function imageText({ imageTag }: Retirement, { image, obstacles }: Plan): string {
  if (!image) {
    const isAmbiguous = obstacles.some(({ code }) => code === 'ambiguous_version');
    return isAmbiguous ? `several versions carry ${imageTag}` : `done: no version carries ${imageTag}`;
  }
  const others = otherTags(image, imageTag);
  const carried = others.length > 0 ? `, which also carries ${others.join(', ')}` : '';
  return `delete version ${image.id} (${image.digest}), tag ${imageTag}${carried}, of ${image.createdAt}`;
}

function releaseText({ gitTag, releaseMarked }: Retirement, { release, newTitle }: Plan): string {
  if (!release) return `there is not exactly one release entry for ${gitTag}`;
  if (newTitle === undefined) return `done: its title reads "${release.title}"`;
  return releaseMarked
    ? `verify the title: it reads "${release.title}", not "${newTitle}"`
    : `change the title from "${release.title}" to "${newTitle}"`;
}

const stepNames = { image: 'image', release: 'release', git_tag: 'Git tag' } as const;
const outcomes = { done: 'done', found_done: 'was done', skipped: 'none' } as const;

export function stepText({ step, outcome, detail }: StepResult): string {
  return printable(`${stepNames[step]}: ${outcomes[outcome]}: ${detail}`);
}

/** One point of the completion checklist. */
export interface ChecklistPoint {
  readonly point: 'image_deleted' | 'release_marked' | 'git_tag_deleted' | 'team_told';
  /** For people. */
  readonly text: string;
  readonly done: boolean;
}

/** The checklist, each point by what was read last; whether the team was told, only a person can say. */
export function checklist(
  retirement: Retirement,
  { images, releases, gitTag }: PublishedState,
  teamTold: boolean,
): readonly ChecklistPoint[] {
  const titles = releases.map(({ title, draft }) => `"${title}"${draft ? ' (a draft now)' : ''}`).join(', ');
  return [
    {
      point: 'image_deleted',
      text: `image version deleted: no version of ${retirement.package} has the tag ${retirement.imageTag}`,
      done: images.length === 0,
    },
    {
      point: 'release_marked',
      text: `release marked: ${titles ? `its title reads ${titles}` : 'there is no release entry'}`,
      done: releases.every(({ title }) => isMarked(title)) && (releases.length > 0 || retirement.noRelease),
    },
    {
      point: 'git_tag_deleted',
      text: `Git tag deleted: there is no refs/tags/${retirement.gitTag}`,
      done: gitTag === undefined,
    },
    {
      point: 'team_told',
      text: `team told to avoid ${retirement.version} and use ${retirement.replacement}`,
      done: teamTold,
    },
  ];
}

export function checklistText(points: readonly ChecklistPoint[]): string {
  return points.map(({ text, done }) => printable(`[${done ? 'x' : ' '}] ${text}`)).join('\n');
}

/** What the team is to know, in Markdown, for a chat or an issue. Names were checked: none needs escaping. */
export function announcement(retirement: Retirement, date: Date): string {
  const { component, version, replacement, imageTag, replacementImageTag, gitTag } = retirement;
  return `## ${component} ${version} is broken: do not use it. Use ${replacement}.

| | avoid | use instead |
| --- | --- | --- |
| version | ${component} ${version} | ${component} ${replacement} |
| image \`${retirement.org}/${retirement.package}\` | \`${imageTag}\` | \`${replacementImageTag}\` |

${version} was retired on ${date.toISOString().slice(0, 10)}: its image no longer pulls by its tag,
${retirement.noRelease ? '' : 'its release is marked as broken, '}and the Git tag \`${gitTag}\` is deleted.

- Where you deploy \`${imageTag}\`, deploy \`${replacementImageTag}\`. What runs already keeps running the broken version.
- Remove copies: in mirrors and caches, and locally with \`docker image ls | grep ${imageTag}\`.
- Remove the Git tag from clones, so that no push brings it back: \`git tag --delete ${gitTag}\`.
`;
}
