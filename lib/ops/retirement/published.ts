import * as z from 'zod';
import { OpsError } from '../errors.ts';
import type { ApiClient } from './api-client.ts';
import type { Retirement } from './request.ts';

/** What readers of the release list find appended to the title of a broken release. */
export const brokenSuffix = '-verified-broken';

export function isMarked(title: string): boolean {
  return title.endsWith(brokenSuffix);
}

/** What is read of a version of a container package; the platform says more. An image without a list of tags would look deleted. */
const packageVersion = z
  .object({
    id: z.int(),
    name: z.string(),
    created_at: z.string(),
    metadata: z.object({ container: z.object({ tags: z.array(z.string()) }) }),
  })
  .transform(({ id, name: digest, created_at: createdAt, metadata }) => ({
    id,
    /** `sha256:…` */
    digest,
    tags: metadata.container.tags,
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
    html_url: z.string(),
  })
  .transform(({ id, tag_name: gitTag, name, draft, html_url: url }) => ({
    id,
    gitTag,
    /** As readers see it: the name, or the tag of a release without one. */
    title: name || gitTag,
    draft,
    /** Its page. */
    url,
  }));

/** An entry of the release list. */
export type Release = Readonly<z.infer<typeof releaseEntry>>;

const reference = z.object({ ref: z.string(), object: z.object({ sha: z.string() }) });

/** Registry and repository before anything is changed. */
export type PublishedState = Awaited<ReturnType<Published['state']>>;

/** What is published of a component: the versions of its container package, and the releases and tags of its repository. */
export class Published {
  readonly #clients: Readonly<Record<'packages' | 'repository', ApiClient>>;
  readonly #retirement: Retirement;
  readonly #versions: string;
  readonly #repository: string;
  /** Of the Git tag. Its slashes stay slashes; its name was checked, so no segment leads elsewhere. */
  readonly #tag: string;

  constructor(retirement: Retirement, clients: Readonly<Record<'packages' | 'repository', ApiClient>>) {
    const { org, package: name, repository, gitTag } = retirement;
    this.#clients = clients;
    this.#retirement = retirement;
    this.#versions = `/orgs/${org}/packages/container/${encodeURIComponent(name)}/versions`;
    this.#repository = `/repos/${org}/${repository}`;
    this.#tag = `tags/${gitTag.split('/').map(encodeURIComponent).join('/')}`;
  }

  /**
   * All versions of all pages, each once. Pages shift while others push or delete: a version may be on two, and may be on none.
   * @throws OpsError
   */
  async versions(): Promise<readonly ImageVersion[]> {
    const { org, package: name } = this.#retirement;
    const missing = ['package_not_found', `${org} has no container package ${name}`] as const;
    const listed = await this.#clients.packages.list(this.#versions, z.array(packageVersion), missing);
    return [...new Map(listed.map((version) => [version.id, version])).values()];
  }

  /** One version as it is now; `undefined` when it is gone. */
  version(id: number): Promise<ImageVersion | undefined> {
    return this.#clients.packages.find(`${this.#versions}/${id}`, packageVersion);
  }

  /** Send the deletion, once. */
  deleteVersion(id: number): Promise<void> {
    return this.#clients.packages.write('DELETE', `${this.#versions}/${id}`);
  }

  release(id: number): Promise<Release | undefined> {
    return this.#clients.repository.find(`${this.#repository}/releases/${id}`, releaseEntry);
  }

  /** Send a new title, once, and nothing else of the release. */
  setTitle(id: number, title: string): Promise<void> {
    return this.#clients.repository.write('PATCH', `${this.#repository}/releases/${id}`, { name: title });
  }

  /** What the Git tag points to, which is enough to make it again; `undefined` when there is none. */
  async gitTag(): Promise<{ readonly sha: string } | undefined> {
    const found = await this.#clients.repository.find(`${this.#repository}/git/ref/${this.#tag}`, reference);
    if (found !== undefined && found.ref !== `refs/tags/${this.#retirement.gitTag}`) {
      throw new OpsError('refused', `asked for another Git tag, the platform answers with ${found.ref}`);
    }
    return found && { sha: found.object.sha };
  }

  /** Send the deletion, once. */
  deleteGitTag(): Promise<void> {
    return this.#clients.repository.write('DELETE', `${this.#repository}/git/refs/${this.#tag}`);
  }

  /** Look at everything, with both tokens: a token that is refused stops the run before anything is changed. */
  async state() {
    const { imageTag, replacementImageTag, gitTag, replacementGitTag, org, repository } = this.#retirement;
    const versions = await this.versions();
    // All of them, drafts among them: without its Git tag a release is a draft, which asking by tag does not find.
    const missing = ['repository_not_found', `${org} has no repository ${repository}`] as const;
    const releases = await this.#clients.repository.list(
      `${this.#repository}/releases`,
      z.array(releaseEntry),
      missing,
    );
    return {
      images: tagged(versions, imageTag),
      replacements: tagged(versions, replacementImageTag),
      /** Entries of the release list for the Git tag. */
      releases: releases.filter((release) => release.gitTag === gitTag),
      replacementReleases: releases.filter((release) => release.gitTag === replacementGitTag),
      gitTag: await this.gitTag(),
    };
  }
}

/** The versions that carry exactly this tag: `proxy-1.2` never stands for `proxy-1.2.1`. */
export function tagged<V extends Pick<ImageVersion, 'tags'>>(versions: readonly V[], tag: string): readonly V[] {
  return versions.filter(({ tags }) => tags.includes(tag));
}
