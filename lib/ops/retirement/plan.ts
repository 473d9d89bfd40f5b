import { OpsError, type OpsErrorCode } from '../errors.ts';
import { type ApiClient, missingScope } from './api-client.ts';
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
  readonly obstacles: readonly OpsError[];
  /** Warnings for the operator; the run continues. */
  readonly warnings: readonly string[];
}

type Tokens = Readonly<Record<'packages' | 'repository', Pick<ApiClient, 'options' | 'scopes'>>>;
type Parts = Pick<Plan, 'image' | 'release' | 'newTitle' | 'gitTag'>;

/** Lay out what follows from the published. Asks nothing, changes nothing. */
export function makePlan(retirement: Retirement, published: PublishedState, tokens: Tokens): Plan {
  const { images, releases, gitTag } = published;
  const image = images.length === 1 ? images[0] : undefined;
  const release = releases.length === 1 ? releases[0] : undefined;
  const newTitle = release && !isMarked(release.title) ? `${release.title}${brokenSuffix}` : undefined;
  const parts = { image, release, newTitle, gitTag };
  const found = Array.from(obstacles(retirement, published, parts, tokens));
  return {
    ...parts,
    replacement: published.replacements[0],
    complete: images.length === 0 && newTitle === undefined && gitTag === undefined,
    obstacles: found.map(([code, text]) => new OpsError(code, text)),
    warnings: Array.from(warnings(retirement, parts)),
  };
}

/** Tags of an image beside the one that names it, sorted. */
export function otherTags({ tags }: Pick<ImageVersion, 'tags'>, tag: string): readonly string[] {
  return tags.filter((each) => each !== tag).sort();
}

/** Whether both lists have the same tags, in any order. */
export function sameTags(a: readonly string[], b: readonly string[]): boolean {
  return a.every((tag) => b.includes(tag)) && b.every((tag) => a.includes(tag));
}

function* obstacles(
  retirement: Retirement,
  { images, replacements, releases, replacementReleases }: PublishedState,
  { image, newTitle, gitTag }: Parts,
  tokens: Tokens,
): Generator<readonly [OpsErrorCode, string]> {
  const { imageTag, alsoRemoveTags, replacement, replacementImageTag, noRelease } = retirement;
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
    const carried = others.length === 0 ? 'no other tag' : `also ${others.join(', ')}`;
    yield ['other_tags', `version ${image.id} carries ${carried}; --also-remove-tags must have exactly these`];
  }
  if (replacements.length === 0) {
    const text = `the replacement ${replacementImageTag} is not in the package ${retirement.package}`;
    yield ['replacement_missing', text];
  }
  if (replacements.some(({ id }) => images.some((each) => each.id === id))) {
    yield ['replacement_equal', `${replacementImageTag} is a tag of the broken image itself`];
  }
  if (replacementReleases.some(({ title }) => isMarked(title))) {
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
  // What the platform tells of a classic token before it is used. `repo` has a smaller form, which is enough for public repositories.
  const used = [...(image ? [tokens.packages] : []), ...(newTitle !== undefined || gitTag ? [tokens.repository] : [])];
  for (const { options, scopes } of used) {
    if (scopes === undefined || scopes.includes(options.scope) || scopes.includes(`public_${options.scope}`)) continue;
    yield ['scope_missing', missingScope(options, scopes)];
  }
}

function* warnings({ imageTag, component, gitTag: name }: Retirement, parts: Parts): Generator<string> {
  const { image, release, gitTag } = parts;
  for (const tag of image ? otherTags(image, imageTag) : []) yield `pulls of ${tag} fail until it is pushed again`;
  if (!name.includes(component)) yield `the Git tag ${name} does not name the component ${component}`;
  if (gitTag && release?.draft === false) {
    yield 'without its Git tag the platform shows the release as a draft, to those who may write to the repository';
  }
}
