import * as z from 'zod';
import type { ApiClient } from './api-client.ts';
import { isNotFound, RetirementError } from './errors.ts';
import { versionsTagged } from './image-tags.ts';
import type { Retirement } from './request.ts';

/** What readers of the release list find appended to the title of a broken release. */
export const brokenSuffix = '-verified-broken';

export function isMarked(title: string): boolean {
  return title.endsWith(brokenSuffix);
}

/** What is read of a package version; the platform says more. A version of another kind of package has no tags. */
const packageVersion = z
  .object({
    id: z.int(),
    name: z.string(),
    created_at: z.string(),
    metadata: z.object({ container: z.object({ tags: z.array(z.string()) }).optional() }).optional(),
  })
  .transform(({ id, name: digest, created_at: createdAt, metadata }) => ({
    id,
    /** `sha256:…` */
    digest,
    tags: metadata?.container?.tags ?? [],
    /** RFC 3339. */
    createdAt,
  }));

/** One version of a container package: an image, found by the tags it carries. */
export type ImageVersion = Readonly<z.infer<typeof packageVersion>>;

const releaseEntry = z
  .object({
    id: z.int(),
    tag_name: z.string(),
    name: z.string().nullable(),
    draft: z.boolean(),
    immutable: z.boolean().optional(),
    html_url: z.string(),
  })
  .transform(({ id, tag_name: gitTag, name, draft, immutable, html_url: url }) => ({
    id,
    gitTag,
    /** As readers see it: the name, or the tag of a release without one. */
    title: name || gitTag,
    draft,
    /** Its Git tag can never be deleted. */
    immutable: immutable === true,
    /** Its page. */
    url,
  }));

/** An entry of the release list. */
export type Release = Readonly<z.infer<typeof releaseEntry>>;

const reference = z.object({ ref: z.string(), object: z.object({ sha: z.string() }) });
const repositoryFacts = z.object({
  archived: z.boolean().optional(),
  permissions: z.object({ push: z.boolean() }).optional(),
});
const anything = z.looseObject({});

const packagePath = '/orgs/{org}/packages/container/{package_name}';
const versionPath = `${packagePath}/versions/{package_version_id}`;
const releasePath = '/repos/{owner}/{repo}/releases/{release_id}';

/** Registry and repository before anything is changed. */
export type PublishedState = Awaited<ReturnType<Published['state']>>;

/** What is published of a component: the versions of its container package, and the releases and tags of its repository. */
export class Published {
  readonly packages: ApiClient;
  readonly repository: ApiClient;
  readonly #retirement: Retirement;
  readonly #names: Readonly<Record<'org' | 'package_name' | 'owner' | 'repo', string>>;

  constructor(retirement: Retirement, clients: { readonly packages: ApiClient; readonly repository: ApiClient }) {
    const { org, package: name, repository: repo } = retirement;
    this.packages = clients.packages;
    this.repository = clients.repository;
    this.#retirement = retirement;
    this.#names = { org, package_name: name, owner: org, repo };
  }

  /**
   * All versions of all pages, each once. Pages shift while others push or delete: a version may be on two, as it was and
   * as it is, and may be on none.
   * @throws RetirementError; organization and package told apart
   */
  async versions(): Promise<readonly ImageVersion[]> {
    const path = `${packagePath}/versions`;
    const listed = await this.packages
      .list(path, this.#names, z.array(packageVersion))
      .catch(async (cause: unknown) => {
        throw isNotFound(cause) ? await this.#unlisted(cause) : cause;
      });
    return [...new Map(listed.map((version) => [version.id, version])).values()];
  }

  /** One version as it is now; `undefined` when it is gone. */
  version(id: number): Promise<ImageVersion | undefined> {
    return this.packages.find(versionPath, { ...this.#names, package_version_id: id }, packageVersion);
  }

  /** Send the deletion, once. */
  deleteVersion(id: number): Promise<void> {
    return this.packages.write('DELETE', versionPath, { ...this.#names, package_version_id: id });
  }

  release(id: number): Promise<Release | undefined> {
    return this.repository.find(releasePath, { ...this.#names, release_id: id }, releaseEntry);
  }

  /** Send a new title, once, and nothing else of the release. */
  setTitle(id: number, title: string): Promise<void> {
    return this.repository.write('PATCH', releasePath, { ...this.#names, release_id: id }, { name: title });
  }

  /** What the Git tag points to, which is enough to make it again; `undefined` when there is none. */
  async gitTag(): Promise<{ readonly sha: string } | undefined> {
    const { gitTag } = this.#retirement;
    const found = await this.repository.find(this.#tagPath('ref'), this.#names, reference);
    if (found !== undefined && found.ref !== `refs/tags/${gitTag}`) {
      throw new RetirementError('refused', `asked for refs/tags/${gitTag}, the platform answers with ${found.ref}`);
    }
    return found && { sha: found.object.sha };
  }

  /** Send the deletion, once. */
  deleteGitTag(): Promise<void> {
    return this.repository.write('DELETE', this.#tagPath('refs'), this.#names);
  }

  /** Look at everything, with both tokens: a token that is refused stops the run before anything is changed. */
  async state() {
    const { imageTag, replacementImageTag, gitTag, replacementGitTag } = this.#retirement;
    const versions = await this.versions();
    const { permissions, archived = false } = await this.#facts();
    // All of them, drafts among them: without its Git tag a release is a draft, which asking by tag does not find.
    const releases = await this.repository.list('/repos/{owner}/{repo}/releases', this.#names, z.array(releaseEntry));
    return {
      /** Versions that carry the image's tag. */
      images: versionsTagged(versions, imageTag),
      /** Versions that carry the replacement's tag. */
      replacements: versionsTagged(versions, replacementImageTag),
      /** How many versions the package has. */
      versionCount: versions.length,
      /** `writable`: whether the token's account may write; `undefined` when the platform does not say. */
      repository: { writable: permissions?.push, archived },
      /** Entries of the release list for the Git tag. */
      releases: releases.filter((release) => release.gitTag === gitTag),
      replacementReleases: releases.filter((release) => release.gitTag === replacementGitTag),
      gitTag: await this.gitTag(),
    };
  }

  /** @throws RetirementError; organization and repository told apart */
  async #facts() {
    const { org, repository } = this.#retirement;
    const found = await this.repository.find('/repos/{owner}/{repo}', this.#names, repositoryFacts);
    if (found) return found;
    await this.#expectOrganization(this.repository);
    const text = `the organization ${org} has no repository ${repository}, or ${this.repository.tokenName} may not see it`;
    throw new RetirementError('repository_not_found', text);
  }

  /** A 404 hides what the token may not see; what can still be asked says which of the three it is. */
  async #unlisted(cause: RetirementError): Promise<RetirementError> {
    const { org, package: name } = this.#retirement;
    const { tokenName, scope } = this.packages;
    if (await this.packages.find(packagePath, this.#names, anything)) {
      const text = `${tokenName} sees the package ${name} and not its versions; it needs ${scope}`;
      return new RetirementError('access_denied', text, { cause });
    }
    await this.#expectOrganization(this.packages);
    const text = `the organization ${org} has no container package ${name}, or ${tokenName} may not see it`;
    return new RetirementError('package_not_found', text, { cause });
  }

  async #expectOrganization(client: ApiClient): Promise<void> {
    if (await client.find('/orgs/{org}', this.#names, anything)) return;
    throw new RetirementError('organization_not_found', `there is no organization ${this.#names.org}`);
  }

  /** Slashes of a tag stay slashes; its name was checked, so no segment leads elsewhere. */
  #tagPath(kind: 'ref' | 'refs'): string {
    return `/repos/{owner}/{repo}/git/${kind}/tags/${this.#retirement.gitTag.split('/').map(encodeURIComponent).join('/')}`;
  }
}
