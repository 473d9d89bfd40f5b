import * as z from 'zod';
import type { ApiClient } from './api-client.ts';
import { isNotFound, RetirementError } from './errors.ts';
import { missingOrganization, orUndefined } from './registry.ts';

/** What readers of the release list find appended to the title of a broken release. */
export const brokenSuffix = '-verified-broken';

/** An entry of the release list. */
export interface Release {
  readonly id: number;
  readonly gitTag: string;
  /** As readers see it: the name, or the tag of a release without one. */
  readonly title: string;
  readonly draft: boolean;
  /** Its Git tag can never be deleted. */
  readonly immutable: boolean;
  /** Its page. */
  readonly url: string;
}

export interface GitTag {
  /** What it points to: enough to make it again. */
  readonly sha: string;
}

/** What is known of a repository before anything is changed. */
export interface RepositoryFacts {
  /** Whether the token's account may write; `undefined` when the platform does not say. */
  readonly writable: boolean | undefined;
  readonly archived: boolean;
}

const release = z
  .object({
    id: z.int(),
    tag_name: z.string(),
    name: z.string().nullable(),
    draft: z.boolean(),
    immutable: z.boolean().optional(),
    html_url: z.string(),
  })
  .transform(
    ({ id, tag_name, name, draft, immutable, html_url }): Release => ({
      id,
      gitTag: tag_name,
      title: name === null || name === '' ? tag_name : name,
      draft,
      immutable: immutable === true,
      url: html_url,
    }),
  );
const reference = z.object({ ref: z.string(), object: z.object({ sha: z.string() }) });
const repository = z.object({
  archived: z.boolean().optional(),
  permissions: z.object({ push: z.boolean() }).optional(),
});

export function isMarked(title: string): boolean {
  return title.endsWith(brokenSuffix);
}

/** Releases and tags of one repository, with the repository token. */
export class Repository {
  readonly #client: ApiClient;
  readonly #names: { readonly owner: string; readonly repo: string };

  constructor(client: ApiClient, names: { readonly org: string; readonly repository: string }) {
    this.#client = client;
    this.#names = { owner: names.org, repo: names.repository };
  }

  /** @throws RetirementError; organization and repository told apart */
  async facts(): Promise<RepositoryFacts> {
    try {
      const { archived, permissions } = await this.#client.get('/repos/{owner}/{repo}', this.#names, repository);
      return { writable: permissions?.push, archived: archived === true };
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const { owner, repo } = this.#names;
      const text = `the organization ${owner} has no repository ${repo}, or ${this.#client.tokenName} may not see it`;
      throw (
        (await missingOrganization(this.#client, owner)) ??
        new RetirementError('repository_not_found', text, { cause: error })
      );
    }
  }

  /** All releases, drafts among them: without its Git tag a release is a draft, which asking by tag does not find. */
  async releases(): Promise<readonly Release[]> {
    return await this.#client.list('/repos/{owner}/{repo}/releases', this.#names, z.array(release));
  }

  async release(id: number): Promise<Release | undefined> {
    const path = '/repos/{owner}/{repo}/releases/{release_id}';
    return await orUndefined(this.#client.get(path, { ...this.#names, release_id: id }, release));
  }

  /** Send a new title, once, and nothing else of the release. */
  async setTitle(id: number, title: string): Promise<void> {
    const path = '/repos/{owner}/{repo}/releases/{release_id}';
    await this.#client.write('PATCH', path, { ...this.#names, release_id: id }, { name: title });
  }

  async gitTag(name: string): Promise<GitTag | undefined> {
    const found = await orUndefined(this.#client.get(this.#tagPath('ref', name), this.#names, reference));
    if (found !== undefined && found.ref !== `refs/tags/${name}`) {
      throw new RetirementError('refused', `asked for refs/tags/${name}, the platform answers with ${found.ref}`);
    }
    return found && { sha: found.object.sha };
  }

  /** Send the deletion, once. */
  async deleteGitTag(name: string): Promise<void> {
    await this.#client.write('DELETE', this.#tagPath('refs', name), this.#names);
  }

  /** Slashes of a tag stay slashes; `name` was checked, so no segment leads elsewhere. */
  #tagPath(kind: 'ref' | 'refs', name: string): string {
    return `/repos/{owner}/{repo}/git/${kind}/tags/${name.split('/').map(encodeURIComponent).join('/')}`;
  }
}
