import { otherTags, type Plan } from './plan.ts';
import { isMarked, type PublishedState } from './published.ts';
import type { Retirement } from './request.ts';

/** The plan in words. */
export function planText(retirement: Retirement, plan: Plan): string {
  const { component, version, replacement, org, repository, gitTag, imageTag } = retirement;
  const { image, release, newTitle, obstacles } = plan;
  const others = image ? otherTags(image, imageTag) : [];
  const carried = others.length > 0 ? `, which also carries ${others.join(', ')}` : '';
  const deletion =
    image && `delete version ${image.id} (${image.digest}), tag ${imageTag}${carried}, of ${image.createdAt}`;
  const isAmbiguous = obstacles.some(({ code }) => code === 'ambiguous_version');
  const noImage = isAmbiguous ? `several versions carry ${imageTag}` : `done: no version carries ${imageTag}`;
  const marking = newTitle
    ? `change the title from "${release?.title}" to "${newTitle}"`
    : `done: its title reads "${release?.title}"`;
  const noTag = `done: there is no refs/tags/${gitTag}`;
  return [
    `Retire ${component} ${version} of ${org}/${repository} (package ${retirement.package}), in favour of ${replacement}:`,
    `  1. image    ${deletion ?? noImage}`,
    `  2. release  ${release ? marking : `there is not exactly one release entry for ${gitTag}`}`,
    `  3. Git tag  ${plan.gitTag ? `delete refs/tags/${gitTag}, which is at ${plan.gitTag.sha}` : noTag}`,
    `  use instead ${plan.replacement ? `${retirement.replacementImageTag}, version ${plan.replacement.id}` : '?'}`,
    ...plan.warnings.map((warning) => `  warning: ${warning}`),
    ...obstacles.map(({ message }) => `  in the way: ${message}`),
  ].join('\n');
}

/** The completion checklist, each point by what was read last; whether the team was told, only a person can say. */
export function checklist(retirement: Retirement, { images, releases, gitTag }: PublishedState, teamTold: boolean) {
  const { package: name, imageTag, version, replacement, noRelease } = retirement;
  const titles = releases.map(({ title, draft }) => `"${title}"${draft ? ' (a draft now)' : ''}`).join(', ');
  const isReleaseDone = releases.every(({ title }) => isMarked(title)) && (releases.length > 0 || noRelease);
  const image = `image version deleted: no version of ${name} has the tag ${imageTag}`;
  const release = `release marked: ${titles ? `its title reads ${titles}` : 'there is no release entry'}`;
  const tag = `Git tag deleted: there is no refs/tags/${retirement.gitTag}`;
  const team = `team told to avoid ${version} and use ${replacement}`;
  return [
    { point: 'image_deleted', text: image, done: images.length === 0 },
    { point: 'release_marked', text: release, done: isReleaseDone },
    { point: 'git_tag_deleted', text: tag, done: !gitTag },
    { point: 'team_told', text: team, done: teamTold },
  ];
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
