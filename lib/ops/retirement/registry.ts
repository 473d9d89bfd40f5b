import * as z from 'zod';
import type { ApiClient } from './api-client.ts';
import { isNotFound, RetirementError } from './errors.ts';
import type { ImageVersion } from './image-tags.ts';

/** What is read of a package version; the platform says more. A version of another kind of package has no tags. */
const packageVersion = z
  .object({
    id: z.int(),
    name: z.string(),
    created_at: z.string(),
    metadata: z.object({ container: z.object({ tags: z.array(z.string()) }).optional() }).optional(),
  })
  .transform(
    ({ id, name, created_at, metadata }): ImageVersion => ({
      id,
      digest: name,
      tags: metadata?.container?.tags ?? [],
      createdAt: created_at,
    }),
  );

const anything = z.looseObject({});

/** The versions of one container package, with the package token. */
export class Registry {
  readonly #client: ApiClient;
  readonly #org: string;
  readonly #package: string;

  constructor(client: ApiClient, names: { readonly org: string; readonly package: string }) {
    this.#client = client;
    this.#org = names.org;
    this.#package = names.package;
  }

  /**
   * All versions of all pages, each once. Pages shift while others push or delete: a version may be on two, as it was and
   * as it is, and may be on none.
   * @throws RetirementError; organization and package told apart
   */
  async versions(): Promise<readonly ImageVersion[]> {
    try {
      const path = '/orgs/{org}/packages/container/{package_name}/versions';
      const listed = await this.#client.list(path, this.#names, z.array(packageVersion));
      return [...new Map(listed.map((version) => [version.id, version])).values()];
    } catch (error) {
      throw isNotFound(error) ? await this.#whatIsMissing(error) : error;
    }
  }

  /** One version as it is now; `undefined` when it is gone. */
  async version(id: number): Promise<ImageVersion | undefined> {
    const path = '/orgs/{org}/packages/container/{package_name}/versions/{package_version_id}';
    return await orUndefined(this.#client.get(path, { ...this.#names, package_version_id: id }, packageVersion));
  }

  /** Send the deletion, once. */
  async deleteVersion(id: number): Promise<void> {
    const path = '/orgs/{org}/packages/container/{package_name}/versions/{package_version_id}';
    await this.#client.write('DELETE', path, { ...this.#names, package_version_id: id });
  }

  get #names() {
    return { org: this.#org, package_name: this.#package };
  }

  /** A 404 hides what the token may not see; what can still be asked says which of the three it is. */
  async #whatIsMissing(cause: RetirementError): Promise<RetirementError> {
    const { tokenName, scope } = this.#client;
    const path = '/orgs/{org}/packages/container/{package_name}';
    if (await orUndefined(this.#client.get(path, this.#names, anything))) {
      const text = `${tokenName} sees the package ${this.#package} and not its versions; it needs ${scope}`;
      return new RetirementError('access_denied', text, { cause });
    }
    return (
      (await missingOrganization(this.#client, this.#org)) ??
      new RetirementError(
        'package_not_found',
        `the organization ${this.#org} has no container package ${this.#package}, or ${tokenName} may not see it`,
        { cause },
      )
    );
  }
}

/** The error to raise when there is no such organization; `undefined` when there is. */
export async function missingOrganization(client: ApiClient, org: string): Promise<RetirementError | undefined> {
  if (await orUndefined(client.get('/orgs/{org}', { org }, anything))) return undefined;
  return new RetirementError('organization_not_found', `there is no organization ${org}`);
}

/** The value, or `undefined` for what the platform does not find. */
export async function orUndefined<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
