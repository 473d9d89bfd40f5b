import type { ApiName } from '../../lib/ops/smoke/run.ts';
import type { WireRequest } from '../../lib/ops/smoke/wire.ts';
import { mutated } from '../fuzz/mutations.ts';
import type { Seeded } from '../fuzz/seeded.ts';
import { OpenApi } from '../helpers/openapi.ts';

/** A request as it goes out. */
export interface SoakRequest {
  readonly api: ApiName;
  readonly method: string;
  /** With query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: Buffer | undefined;
}

/** What requests are put together from. */
export interface Ingredients {
  /** By operation: `delivery GET /files`. */
  readonly good: Readonly<Record<string, WireRequest>>;
  /** Tokens of the caller, and tokens that are good for nothing. */
  readonly tokens: readonly string[];
  /** Ids and names of the caller and of others. */
  readonly names: readonly string[];
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'];
const credentialHeaders = ['Authorization', 'Proxy-Authorization', 'X-GA4GH-Visa'];
const otherHeaders = ['Accept', 'Accept-Encoding', 'Content-Type', 'If-Modified-Since', 'X-Forwarded-For'];
const ranges = ['bytes=0-99', 'bytes=0-', 'bytes=-5', 'bytes=9-1', 'bytes=0-0,5-9', 'bytes=99999999999-', 'items=0-1'];
const numbers = ['-1', '0', '1', '2', '65536', '999999999', '1e3', '18446744073709551616', 'NaN'];
const words = ['true', 'FALSE', 'CRYPT4GH', 'crypt4gh', 'plain', '*', '"x"', 'W/"x"', 'null', '{}', '[]'];
const paths = ['', ' ', '.', '..', '../..', '%2e%2e', '%2F', 'a%2Fb', '%00', '%', '%zz', '+', '*', '~', ';x=1', '//'];
const texts = ['é', '😀', "' or 1=1 --", '%{x}', '<script>', 'a'.repeat(257), 'b'.repeat(3_000)];

/**
 * A good request with up to four changes. Two runs with the same seed and ingredients agree.
 *
 * @param number chooses the operation: one after the other, so that none is left out
 */
export function randomRequest(random: Seeded, number: number, ingredients: Ingredients): SoakRequest {
  const operations = Object.keys(ingredients.good);
  const operation = operations[number % operations.length] ?? '';
  const { method, path, headers, body } = ingredients.good[operation]!;
  const [api] = operation.split(' ') as [ApiName];
  const draft = new Draft(random, ingredients, api, operation.slice(api.length + 1), {
    method,
    path,
    headers: { ...headers },
    body: body === undefined ? undefined : Buffer.from(body),
  });
  for (let changes = random.below(5); changes > 0; changes -= 1) draft.change();
  return draft.request;
}

interface Parts {
  method: string;
  path: string;
  headers: Record<string, string | readonly string[]>;
  body: Buffer | undefined;
}

class Draft {
  readonly #random: Seeded;
  readonly #ingredients: Ingredients;
  readonly #api: ApiName;
  readonly #operation: string;
  readonly #parts: Parts;

  constructor(random: Seeded, ingredients: Ingredients, api: ApiName, operation: string, parts: Parts) {
    this.#random = random;
    this.#ingredients = ingredients;
    this.#api = api;
    this.#operation = operation;
    this.#parts = parts;
  }

  get request(): SoakRequest {
    const { method, path, headers, body } = this.#parts;
    const sent = Object.entries(headers).map(([name, value]) => [
      name,
      typeof value === 'string' ? fieldText(value) : value.map(fieldText),
    ]);
    return { api: this.#api, method, path: targetText(path), headers: Object.fromEntries(sent), body };
  }

  change(): void {
    const changes = [
      () => this.#changeMethod(),
      () => this.#changePath(),
      () => this.#changePath(),
      () => this.#changeQuery(),
      () => this.#changeQuery(),
      () => this.#changeHeader(),
      () => this.#changeCredentials(),
      () => this.#changeBody(),
    ];
    this.#random.pick(changes)();
  }

  #changeMethod(): void {
    this.#parts.method = this.#random.pick(methods);
  }

  #value(): string {
    const { names } = this.#ingredients;
    return this.#random.pick(this.#random.pick([names, names, ranges, numbers, words, paths, texts]));
  }

  #changePath(): void {
    const [path = '', ...query] = this.#parts.path.split('?');
    const segments = path.split('/');
    // The last one is an id most of the time.
    const at = this.#random.oneIn(2) ? segments.length - 1 : this.#random.below(segments.length);
    const how = this.#random.pick(['remove', 'insert', 'replace', 'replace']);
    segments.splice(at, how === 'insert' ? 0 : 1, ...(how === 'remove' ? [] : [this.#value()]));
    this.#parts.path = [segments.join('/'), ...query].join('?');
  }

  #changeQuery(): void {
    const name = this.#parameter('query') ?? this.#random.pick(['x', 'fileName', '']);
    const separator = this.#parts.path.includes('?') ? '&' : '?';
    if (this.#random.oneIn(6)) this.#parts.path = this.#parts.path.replace(/\?.*$/, '');
    else this.#parts.path += `${separator}${name}=${this.#value()}`;
  }

  #changeHeader(): void {
    const { headers } = this.#parts;
    const name = this.#parameter('header') ?? this.#random.pick(otherHeaders);
    const present = Object.keys(headers);
    if (this.#random.oneIn(4) && present.length > 0) delete headers[this.#random.pick(present)];
    else if (this.#random.oneIn(6)) headers[name] = [this.#value(), this.#value()];
    else headers[name] = this.#value();
  }

  #changeCredentials(): void {
    const token = this.#token();
    const name = this.#random.pick(credentialHeaders);
    const scheme = this.#random.pick(['Bearer ', 'Bearer ', 'bearer  ', 'Basic ', '']);
    this.#parts.headers[name] = name === 'X-GA4GH-Visa' ? token : `${scheme}${token}`;
  }

  #token(): string {
    const token = this.#random.pick(this.#ingredients.tokens);
    return this.#random.oneIn(2) ? token : mutated(this.#random, Buffer.from(token), 2).toString('latin1');
  }

  #changeBody(): void {
    const { body } = this.#parts;
    if (body === undefined || this.#random.oneIn(6)) {
      this.#parts.body = this.#random.pick([Buffer.alloc(0), this.#random.bytes(100), Buffer.alloc(70_000, '['), body]);
    } else if (this.#random.oneIn(2)) this.#parts.body = mutated(this.#random, body, 3);
    else this.#parts.body = Buffer.from(this.#changedJson(body));
  }

  /** The members of a good body, one of them changed. */
  #changedJson(body: Buffer): string {
    let document: unknown;
    try {
      document = JSON.parse(body.toString());
    } catch {
      return JSON.stringify(this.#value());
    }
    if (typeof document !== 'object' || document === null) return JSON.stringify(this.#value());
    const name = this.#random.pick([...Object.keys(document), 'type', 'id', 'expand']);
    const value = this.#random.pick([this.#value(), [this.#value()], [this.#token()], this.#token(), 7, null, {}]);
    return JSON.stringify({ ...document, [name]: value });
  }

  /** A documented parameter of the operation, mostly. */
  #parameter(place: 'query' | 'header'): string | undefined {
    const documented = OpenApi.read(this.#api)
      .parameters(this.#operation)
      .filter((parameter) => parameter.in === place);
    return documented.length === 0 || this.#random.oneIn(5) ? undefined : this.#random.pick(documented).name;
  }
}

/** As a request line can carry it. */
function targetText(path: string): string {
  return path.replace(/[^\x21-\x7e]|#/gu, (character) => encodeURIComponent(character));
}

/** As a header line can carry it. */
function fieldText(value: string): string {
  return value.replace(/[^\x20-\x7e]/gu, '?');
}
