import type { ApiClient } from './api-client.ts';
import { missingScope } from './api-failure.ts';
import { RetirementError, type RetirementErrorCode } from './errors.ts';
import { isFloating, otherTags, sameTags } from './image-tags.ts';
import { brokenSuffix, type ImageVersion, isMarked, type PublishedState, type Release } from './published.ts';
import type { Retirement } from './request.ts';

/** What would happen, what is done already, and what stands in the way. */
export interface Plan {
  /** The version to delete; `undefined` when none carries the tag. */
  readonly image: ImageVersion | undefined;
  /** The entry to mark; `undefined` when there is none. */
  readonly release: Release | undefined;
  readonly gitTag: PublishedState['gitTag'];
  /** Where the replacement is; `undefined` when it is not in the registry. */
  readonly replacement: ImageVersion | undefined;
  /** The title that the release must have; `undefined` when it has it. */
  readonly newTitle: string | undefined;
  /** Whether all three steps are done. */
  readonly complete: boolean;
  /** Why nothing may be changed; the first is the one to report. */
  readonly obstacles: readonly RetirementError[];
  /** Warnings for the operator; the run continues. */
  readonly warnings: readonly string[];
}

/** A token's name and scopes, as far as the platform has told them. */
type Token = Pick<ApiClient, 'tokenName' | 'scope' | 'scopes'>;
type Tokens = Readonly<Record<'packages' | 'repository', Token>>;
type Parts = Pick<Plan, 'image' | 'release' | 'newTitle' | 'gitTag'>;

/** Lay out what follows from the published. Asks nothing, changes nothing. */
export function makePlan(retirement: Retirement, published: PublishedState, tokens: Tokens): Plan {
  const { images, releases, gitTag } = published;
  const image = images.length === 1 ? images[0] : undefined;
  const release = releases.length === 1 ? releases[0] : undefined;
  const newTitle = release && !isMarked(release.title) ? `${release.title}${brokenSuffix}` : undefined;
  const parts = { image, release, newTitle, gitTag };
  return {
    ...parts,
    replacement: published.replacements[0],
    complete: images.length === 0 && newTitle === undefined && gitTag === undefined,
    obstacles: Array.from(
      obstacles(retirement, published, parts, tokens),
      ([code, text]) => new RetirementError(code, text),
    ),
    warnings: warningsOf(retirement, published, parts),
  };
}

function* obstacles(
  retirement: Retirement,
  published: PublishedState,
  { image, newTitle, gitTag }: Parts,
  tokens: Tokens,
): Generator<readonly [RetirementErrorCode, string]> {
  const { imageTag, alsoRemoveTags, replacement, replacementImageTag, noRelease } = retirement;
  const { images, replacements, releases } = published;
  if (images.length > 1) {
    const found = images.map(({ id, digest }) => `${id} (${digest})`).join(', ');
    yield ['ambiguous_version', `${images.length} versions carry the tag ${imageTag}: ${found}`];
  }
  if (images.length + releases.length === 0 && !gitTag) {
    const text = `nothing of ${imageTag} exists: no image, no release entry, no Git tag ${retirement.gitTag}`;
    yield ['version_not_found', `${text}; are the names right?`];
  }
  const others = image ? otherTags(image, imageTag) : [];
  if (image && !sameTags(others, alsoRemoveTags)) {
    const tags = others.map((tag) => (isFloating(tag) ? `${tag} (floating)` : tag));
    const carried = tags.length === 0 ? 'no other tag' : `also ${tags.join(', ')}`;
    const listed =
      alsoRemoveTags.length === 0
        ? 'say --also-remove-tags with exactly these to also remove them'
        : `--also-remove-tags names ${alsoRemoveTags.join(', ')}`;
    yield ['other_tags', `version ${image.id} carries ${carried}; ${listed}`];
  }

  if (replacements.length === 0) {
    const text = `the replacement ${replacementImageTag} is not in the package ${retirement.package}`;
    yield ['replacement_missing', `${text} (of ${published.versionCount} versions)`];
  }
  if (replacements.some(({ id }) => images.some((each) => each.id === id))) {
    yield ['replacement_equal', `${replacementImageTag} is a tag of the broken image itself`];
  }
  if (published.replacementReleases.some(({ title }) => isMarked(title))) {
    yield ['replacement_broken', `the release of ${replacement} is marked as broken itself`];
  }

  if (releases.length > 1) {
    const found = releases.map(({ title, url }) => `"${title}" ${url}`).join(', ');
    yield ['ambiguous_release', `${releases.length} release entries have the tag ${retirement.gitTag}: ${found}`];
  }
  if (releases.length === 0 && !noRelease) {
    const text = `no release entry has the tag ${retirement.gitTag}; say --no-release if there never was one`;
    yield ['release_not_found', text];
  }

  // What the platform tells of a token before it is used: a classic one lists its scopes, an account its permissions.
  if (image) yield* lackedScope(tokens.packages);
  if (newTitle !== undefined || gitTag) yield* lackedScope(tokens.repository);
  if (gitTag && published.repository.writable === false) {
    yield ['access_denied', `the account of ${tokens.repository.tokenName} may only read the repository`];
  }
}

/** `repo` has a smaller form, which is enough for public repositories; with it others are not even found. */
function* lackedScope(token: Token): Generator<readonly [RetirementErrorCode, string]> {
  const { scope, scopes } = token;
  if (scopes === undefined || scopes.includes(scope) || scopes.includes(`public_${scope}`)) return;
  yield ['scope_missing', missingScope(token, scopes.join(', '))];
}

function warningsOf(retirement: Retirement, published: PublishedState, { image, release, gitTag }: Parts): string[] {
  const { imageTag, component, gitTag: name } = retirement;
  const floating = image ? otherTags(image, imageTag).filter(isFloating) : [];
  const warnings: readonly (readonly [applies: boolean, warning: string])[] = [
    [image === undefined, `no version of ${retirement.package} carries the tag ${imageTag}: the image is gone`],
    [!name.includes(component), `the Git tag ${name} does not name the component ${component}`],
    [
      gitTag !== undefined && release?.immutable === true,
      'the release is immutable: the platform will not let its Git tag be deleted',
    ],
    [published.repository.archived, 'the repository is archived: its title and tag cannot be changed until it is not'],
    [
      gitTag !== undefined && release?.draft === false,
      'without its Git tag the platform shows the release as a draft, to those who may write to the repository',
    ],
  ];
  return [
    ...floating.map(
      (tag) => `the floating tag ${tag} vanishes with the image: pulls of it fail until it is pushed again`,
    ),
    ...warnings.flatMap(([applies, warning]) => (applies ? [warning] : [])),
  ];
}
