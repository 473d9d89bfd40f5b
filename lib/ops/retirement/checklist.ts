import type { PublishedState } from './published-state.ts';
import { isMarked } from './repository.ts';
import type { Retirement } from './request.ts';

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
  published: PublishedState,
  teamTold: boolean,
): readonly ChecklistPoint[] {
  const { images, releases, gitTag } = published;
  const titles = releases.map(({ title, draft }) => `"${title}"${draft ? ' (a draft now)' : ''}`).join(', ');
  return [
    {
      point: 'image_deleted',
      text: `image version deleted: no version of ${retirement.package} has the tag ${retirement.imageTag}`,
      done: images.length === 0,
    },
    {
      point: 'release_marked',
      text: titles ? `release marked: its title reads ${titles}` : 'release marked: there is no release entry',
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
