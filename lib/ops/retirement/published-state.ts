import { type ImageVersion, versionsTagged } from './image-tags.ts';
import type { Registry } from './registry.ts';
import type { GitTag, Release, Repository, RepositoryFacts } from './repository.ts';
import type { Retirement } from './request.ts';

/** The state of registry and repository before anything is changed. */
export interface PublishedState {
  /** Versions that carry the image's tag. */
  readonly images: readonly ImageVersion[];
  /** Versions that carry the replacement's tag. */
  readonly replacements: readonly ImageVersion[];
  /** How many versions the package has. */
  readonly versionCount: number;
  readonly repository: RepositoryFacts;
  /** Entries of the release list for the Git tag. */
  readonly releases: readonly Release[];
  readonly replacementReleases: readonly Release[];
  readonly gitTag: GitTag | undefined;
}

/** Look at everything, with both tokens: a token that is refused stops the run before anything is changed. */
export async function readPublished(
  retirement: Retirement,
  registry: Registry,
  repository: Repository,
): Promise<PublishedState> {
  const versions = await registry.versions();
  const facts = await repository.facts();
  const releases = await repository.releases();
  return {
    images: versionsTagged(versions, retirement.imageTag),
    replacements: versionsTagged(versions, retirement.replacementImageTag),
    versionCount: versions.length,
    repository: facts,
    releases: releases.filter((release) => release.gitTag === retirement.gitTag),
    replacementReleases: releases.filter((release) => release.gitTag === retirement.replacementGitTag),
    gitTag: await repository.gitTag(retirement.gitTag),
  };
}
