import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type * as z from 'zod';
import { parseJson } from '../../common/untrusted-json.ts';
import { type DenyList, denyListDocument, denyListOf } from '../../contract/deny-list.ts';
import { administratorsDocument, ticketKeyDocument } from '../../contract/secrets.ts';
import { isError, unavailable } from '../../errors.ts';
import type { Clock } from '../archive/ports.ts';
import type { TicketKeys } from '../direct/htsget/token.ts';
import { storeFailure } from './aws-failure.ts';

export interface SecretOptions {
  readonly client: SecretsManagerClient;
  readonly secretArn: string;
  /** @default - the system's clock */
  readonly clock?: Clock;
}

/** The operator must correct a secret. The message names the place of the mistake and never repeats the value. */
export class MalformedSecretError extends Error {
  override get name(): string {
    return 'MalformedSecretError';
  }
}

/**
 * How soon {@link CachedSecret.refreshed} may read again: an unknown name or key hash must not cause a request each
 * time.
 */
const minRefreshMs = 10_000;

interface Cached<Value> {
  readonly value: Promise<Value>;
  readonly readAt: number;
  /** When reading it again failed, in milliseconds since 1970. */
  readonly failedAt?: number;
}

interface SecretContent<Shape, Value> {
  readonly shape: z.ZodType<Shape>;
  /** Turns the validated JSON into the value to keep. @throws MalformedSecretError */
  readonly parse: (shape: Shape) => Value | Promise<Value>;
  /** How long the value is used before the secret is read again. */
  readonly lifetimeMs: number;
  /** Greatest age of a value that is used while the secret cannot be read. @default 0, none is used */
  readonly servesMs?: number;
}

/** A JSON secret, read when needed, parsed once, kept for a while. */
export class CachedSecret<Shape, Value> {
  readonly #options: SecretOptions;
  readonly #content: SecretContent<Shape, Value>;
  #cached: Cached<Value> | undefined;

  constructor(options: SecretOptions, content: SecretContent<Shape, Value>) {
    this.#options = options;
    this.#content = content;
  }

  /** The value, at most as old as its lifetime. @throws MalformedSecretError */
  get(): Promise<Value> {
    return this.#atMost(this.#content.lifetimeMs);
  }

  /** The value, at most ten seconds old. */
  refreshed(): Promise<Value> {
    return this.#atMost(minRefreshMs);
  }

  readAgain(): Promise<Value> {
    return this.#atMost(0);
  }

  #atMost(age: number): Promise<Value> {
    const now = (this.#options.clock?.() ?? new Date()).getTime();
    const before = this.#cached;
    const serves = before !== undefined && now - before.readAt < (this.#content.servesMs ?? 0);
    if (before && now - before.readAt < age) return before.value;
    // While reading fails, most callers get the old value at once, and one in ten seconds tries again.
    if (serves && now - (before.failedAt ?? Number.NEGATIVE_INFINITY) < minRefreshMs) return before.value;
    const value = this.#read().catch((error: unknown) => {
      // A failure is not kept and does not remove the old value.
      if (this.#cached === entry) this.#cached = before && { ...before, failedAt: now };
      if (serves) return before.value;
      throw error;
    });
    // Kept while under way, so that concurrent callers share one request.
    const entry: Cached<Value> = { value, readAt: now };
    this.#cached = entry;
    return value;
  }

  async #read(): Promise<Value> {
    const { client, secretArn } = this.#options;
    const command = new GetSecretValueCommand({ SecretId: secretArn });
    const { SecretString: text = '' } = await client.send(command).catch((error: unknown) => {
      throw storeFailure(error, 'Secrets Manager');
    });
    const parsed = this.#content.shape.safeParse(parseJson(text));
    if (parsed.success) return this.#content.parse(parsed.data);
    // The path and the kind of each problem; zod's own messages could repeat what existed.
    const problems = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'secret'}: ${issue.code}`);
    throw new MalformedSecretError(`the secret ${secretArn} is malformed: ${problems.join('; ')}`);
  }
}

const minuteMs = 60_000;

/** The administrators' secret. One whose rights were taken away is out after a minute; one who is new is found within ten seconds. */
export function secretAdministrators(options: SecretOptions) {
  const secret = new CachedSecret(options, {
    shape: administratorsDocument,
    // A hash is scrypt in PHC form, or bcrypt.
    parse: ({ users }) =>
      new Map(users.map(({ username, password: passwordHash, roles }) => [username, { passwordHash, roles }])),
    lifetimeMs: minuteMs,
  });
  return {
    find: async (username: string) => (await secret.get()).get(username) ?? (await secret.refreshed()).get(username),
  };
}

/**
 * The tokens and subjects that are denied. The list is a minute old at most. While it cannot be read, it is the last good one,
 * five minutes old at most.
 *
 * @returns a function that throws `temporarily_unavailable` when there is no such list, whatever the reason: no token can be
 * accepted without one
 */
export function secretDenyList(options: SecretOptions): () => Promise<DenyList> {
  const times = { lifetimeMs: minuteMs, servesMs: 5 * minuteMs };
  const secret = new CachedSecret(options, { shape: denyListDocument, parse: denyListOf, ...times });
  return async () => {
    try {
      return await secret.get();
    } catch (error) {
      if (isError(error, 'temporarily_unavailable')) throw error;
      throw unavailable('the deny list cannot be read', { cause: error });
    }
  };
}

export function secretTicketKeys(options: SecretOptions): TicketKeys {
  const parse = ({ key }: { readonly key: string }) => Buffer.from(key);
  const secret = new CachedSecret(options, { shape: ticketKeyDocument, parse, lifetimeMs: 5 * minuteMs });
  return { current: () => secret.get(), refreshed: () => secret.refreshed() };
}
