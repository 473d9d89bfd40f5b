import type { Retirement } from './request.ts';

/** What the team is to know, in Markdown, for a chat or an issue. Names were checked: none needs escaping. */
export function announcement(retirement: Retirement, date: Date): string {
  const { component, version, replacement, imageTag, replacementImageTag, gitTag } = retirement;
  const image = `${retirement.org}/${retirement.package}`;
  return [
    `## ${component} ${version} is broken: do not use it. Use ${replacement}.`,
    '',
    `| | avoid | use instead |`,
    `| --- | --- | --- |`,
    `| version | ${component} ${version} | ${component} ${replacement} |`,
    `| image \`${image}\` | \`${imageTag}\` | \`${replacementImageTag}\` |`,
    '',
    `${version} was retired on ${date.toISOString().slice(0, 10)}: its image no longer pulls by its tag,`,
    `${retirement.noRelease ? '' : 'its release is marked as broken, '}and the Git tag \`${gitTag}\` is deleted.`,
    '',
    `- Where you deploy \`${imageTag}\`, deploy \`${replacementImageTag}\`. What runs already keeps running the broken version.`,
    `- Remove copies: in mirrors and caches, and locally with \`docker image ls | grep ${imageTag}\`.`,
    `- Remove the Git tag from clones, so that no push brings it back: \`git tag --delete ${gitTag}\`.`,
    '',
  ].join('\n');
}
