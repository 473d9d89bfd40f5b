import { missingScope } from './api-failure.ts';
import { RetirementError } from './errors.ts';
import { type ImageVersion, isFloating, otherTags, sameTags } from './image-tags.ts';
import type { PublishedState } from './published-state.ts';
import { brokenSuffix, type GitTag, isMarked, type Release } from './repository.ts';
import type { Retirement } from './request.ts';

/** What would happen, what is done already, and what stands in the way. */
export interface Plan {
  /** The version to delete; `undefined` when none carries the tag. */
  readonly image: ImageVersion | undefined;
  /** The entry to mark; `undefined` when there is none. */
  readonly release: Release | undefined;
  readonly gitTag: GitTag | undefined;
  /** Where the replacement is; `undefined` when it is not in the registry. */
  readonly replacement: ImageVersion | undefined;
  /** The title that the release shall have; `undefined` when it has it. */
  readonly newTitle: string | undefined;
  /** Whether all three steps are done. */
  readonly complete: boolean;
  /** Why nothing may be changed; the first is the one to report. */
  readonly obstacles: readonly RetirementError[];
  /** Warnings for the operator; the run goes on. */
  readonly warnings: readonly string[];
}

/** A token's name and scopes, as far as the platform has told them. */
export interface TokenFacts {
  readonly tokenName: string;
  readonly scope: string;
  readonly scopes: readonly string[] | undefined;
}

/** Lay out what follows from the published. Asks nothing, changes nothing. */
export function makePlan(
  retirement: Retirement,
  published: PublishedState,
  tokens: { readonly packages: TokenFacts; readonly repository: TokenFacts },
): Plan {
  const image = published.images.length === 1 ? published.images[0] : undefined;
  const release = published.releases.length === 1 ? published.releases[0] : undefined;
  const newTitle = release && !isMarked(release.title) ? `${release.title}${brokenSuffix}` : undefined;
  const parts = { image, release, newTitle, gitTag: published.gitTag };
  return {
    ...parts,
    replacement: published.replacements[0],
    complete: published.images.length === 0 && newTitle === undefined && published.gitTag === undefined,
    obstacles: [
      ...imageObstacles(retirement, published),
      ...replacementObstacles(retirement, published),
      ...releaseObstacles(retirement, published),
      ...tokenObstacles(parts, published, tokens),
    ],
    warnings: warningsOf(retirement, published, parts),
  };
}

type Parts = Pick<Plan, 'image' | 'release' | 'newTitle' | 'gitTag'>;

function* imageObstacles(
  retirement: Retirement,
  { images, releases, gitTag }: PublishedState,
): Generator<RetirementError> {
  const { imageTag, alsoRemoveTags } = retirement;
  if (images.length > 1) {
    const found = images.map(({ id, digest }) => `${id} (${digest})`).join(', ');
    yield new RetirementError('ambiguous_version', `${images.length} versions carry the tag ${imageTag}: ${found}`);
    return;
  }
  const [image] = images;
  if (!image && releases.length === 0 && !gitTag) {
    const text = `nothing of ${imageTag} is there: no image, no release entry, no Git tag ${retirement.gitTag}`;
    yield new RetirementError('version_not_found', `${text}; are the names right?`);
  }
  const others = image ? otherTags(image, imageTag) : [];
  if (image && !sameTags(others, alsoRemoveTags)) {
    const carried = others.length === 0 ? 'no other tag' : `also ${others.map(describeTag).join(', ')}`;
    const listed =
      alsoRemoveTags.length === 0
        ? 'say --also-remove-tags with exactly these if they shall vanish with it'
        : `--also-remove-tags names ${alsoRemoveTags.join(', ')}`;
    yield new RetirementError('other_tags', `version ${image.id} carries ${carried}; ${listed}`);
  }
}

function describeTag(tag: string): string {
  return isFloating(tag) ? `${tag} (floating)` : tag;
}

function* replacementObstacles(retirement: Retirement, published: PublishedState): Generator<RetirementError> {
  const { replacementImageTag, replacement } = retirement;
  const { replacements, images, replacementReleases } = published;
  if (replacements.length === 0) {
    const text = `the replacement ${replacementImageTag} is not in the package ${retirement.package}`;
    yield new RetirementError('replacement_missing', `${text} (of ${published.versionCount} versions)`);
  }
  if (replacements.some(({ id }) => images.some((image) => image.id === id))) {
    yield new RetirementError('replacement_equal', `${replacementImageTag} is a tag of the broken image itself`);
  }
  if (replacementReleases.some(({ title }) => isMarked(title))) {
    yield new RetirementError('replacement_broken', `the release of ${replacement} is marked as broken itself`);
  }
}

function* releaseObstacles(
  { gitTag, noRelease }: Retirement,
  { releases }: PublishedState,
): Generator<RetirementError> {
  if (releases.length > 1) {
    const found = releases.map(({ title, url }) => `"${title}" ${url}`).join(', ');
    yield new RetirementError(
      'ambiguous_release',
      `${releases.length} release entries have the tag ${gitTag}: ${found}`,
    );
  }
  if (releases.length === 0 && !noRelease) {
    const text = `no release entry has the tag ${gitTag}; say --no-release if there never was one`;
    yield new RetirementError('release_not_found', text);
  }
}

/** What the platform tells of a token before it is used: a classic one lists its scopes, an account its permissions. */
function* tokenObstacles(
  { image, newTitle, gitTag }: Parts,
  { repository }: PublishedState,
  tokens: { readonly packages: TokenFacts; readonly repository: TokenFacts },
): Generator<RetirementError> {
  if (image && lacksScope(tokens.packages)) {
    yield new RetirementError('scope_missing', missingScope(tokens.packages, tokens.packages.scopes?.join(', ') ?? ''));
  }
  if (newTitle === undefined && !gitTag) return;
  if (lacksScope(tokens.repository)) {
    const held = tokens.repository.scopes?.join(', ') ?? '';
    yield new RetirementError('scope_missing', missingScope(tokens.repository, held));
  }
  if (gitTag && repository.writable === false) {
    yield new RetirementError(
      'access_denied',
      `the account of ${tokens.repository.tokenName} may only read the repository`,
    );
  }
}

/** `repo` has a smaller form, which is enough for public repositories; with it others are not even found. */
function lacksScope({ scope, scopes }: TokenFacts): boolean {
  return scopes !== undefined && !scopes.includes(scope) && !scopes.includes(`public_${scope}`);
}

function warningsOf(retirement: Retirement, published: PublishedState, { image, release, gitTag }: Parts): string[] {
  const floating = image ? otherTags(image, retirement.imageTag).filter(isFloating) : [];
  const { gitTag: name, component } = retirement;
  return [
    ...floating.map(
      (tag) => `the floating tag ${tag} vanishes with the image: pulls of it fail until it is pushed again`,
    ),
    ...(image ? [] : [`no version of ${retirement.package} carries the tag ${retirement.imageTag}: the image is gone`]),
    ...(name.includes(component) ? [] : [`the Git tag ${name} does not name the component ${component}`]),
    ...(gitTag && release?.immutable
      ? ['the release is immutable: the platform will not let its Git tag be deleted']
      : []),
    ...(published.repository.archived
      ? ['the repository is archived: its title and tag cannot be changed until it is not']
      : []),
    ...(gitTag && release && !release.draft
      ? ['without its Git tag the platform shows the release as a draft, to those who may write to the repository']
      : []),
  ];
}
