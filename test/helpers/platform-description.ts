import { readdirSync, readFileSync } from 'node:fs';
import type { Json } from '@hyperjump/json-pointer';
import { registerSchema, setShouldValidateFormat, validate } from '@hyperjump/json-schema/openapi-3-0';

setShouldValidateFormat(true);

type Node = Readonly<Record<string, unknown>>;
type Pointer = readonly string[];

/** The operations of the platform that a retirement may call; any other request is a mistake. */
const operations = [
  ['get', '/orgs/{org}'],
  ['get', '/orgs/{org}/packages/{package_type}/{package_name}'],
  ['get', '/orgs/{org}/packages/{package_type}/{package_name}/versions'],
  ['get', '/orgs/{org}/packages/{package_type}/{package_name}/versions/{package_version_id}'],
  ['delete', '/orgs/{org}/packages/{package_type}/{package_name}/versions/{package_version_id}'],
  ['get', '/repos/{owner}/{repo}'],
  ['get', '/repos/{owner}/{repo}/releases'],
  ['get', '/repos/{owner}/{repo}/releases/{release_id}'],
  ['patch', '/repos/{owner}/{repo}/releases/{release_id}'],
  ['get', '/repos/{owner}/{repo}/git/ref/{ref}'],
  ['delete', '/repos/{owner}/{repo}/git/refs/{ref}'],
] as const;

const uri = 'https://platform.example.org/description';
const dialect = 'https://spec.openapis.org/oas/3.0/schema';

/** A request that the description knows. */
export interface DescribedRequest {
  /** `GET /orgs/{org}` */
  readonly operation: string;
  readonly pointer: Pointer;
  /** Path parameters, decoded. */
  readonly path: Readonly<Record<string, string>>;
}

/**
 * The platform's published OpenAPI description, as the npm package `@octokit/openapi` carries it, cut to the operations
 * above. Its objects allow unknown fields; here they do not, so that the test server invents none.
 */
export class PlatformDescription {
  readonly #document: Node;
  readonly #validators = new Map<
    string,
    (value: Json) => { readonly valid: boolean; readonly errors: readonly string[] }
  >();

  readonly #examples = new Map<string, Node>();

  private constructor(document: Node) {
    this.#document = document;
  }

  static #known: PlatformDescription | undefined;

  /** One instance for a test file: the description has 13 MB. */
  static read(): PlatformDescription {
    PlatformDescription.#known ??= new PlatformDescription(readCut());
    return PlatformDescription.#known;
  }

  /** @throws Error for what the description does not know, or knows otherwise */
  async checkRequest(request: {
    readonly method: string;
    readonly url: URL;
    readonly body: string;
  }): Promise<DescribedRequest> {
    const found = this.#find(request.method, request.url.pathname);
    const { operation, pointer, path } = found;
    const known = this.#parameters(pointer);
    const query = Object.fromEntries(request.url.searchParams);
    for (const [where, given] of [
      ['path', path],
      ['query', query],
    ] as const) {
      for (const [name, text] of Object.entries(given)) {
        const place = known.find((each) => this.#at(each)['name'] === name && this.#at(each)['in'] === where);
        if (!place) throw new Error(`${operation}: no ${where} parameter ${name}`);
        const schema = [...place, 'schema'];
        const value = this.#at(this.#resolve(schema))['type'] === 'integer' ? Number(text) : text;
        await this.#expect(schema, value, `${operation}: ${name}`);
      }
    }
    const content = this.#at([...pointer, 'requestBody', 'content', 'application/json']);
    if (request.body === '') return found;
    if (!content) throw new Error(`${operation}: has a body`);
    const schema = [...pointer, 'requestBody', 'content', 'application/json', 'schema'];
    await this.#expect(schema, JSON.parse(request.body), `${operation}: body`);
    return found;
  }

  /** @throws Error; an error status that an operation does not describe must at least be the platform's basic error */
  async checkReply({ operation, pointer }: DescribedRequest, status: number, body: Json | undefined): Promise<void> {
    const response = [...pointer, 'responses', String(status)];
    const described = this.#at(response);
    if (!described && status < 400 && status !== 301 && status !== 307) throw new Error(`${operation}: no ${status}`);
    const schema = [...this.#resolve(response), 'content', 'application/json', 'schema'];
    if (body === undefined) {
      if (this.#at(schema)) throw new Error(`${operation} ${status}: no body`);
      return;
    }
    const error = ['components', 'schemas', 'basic-error'];
    await this.#expect(this.#at(schema) ? schema : error, body, `${operation} ${status}`);
  }

  /** The description's own example of a reply, without fields that its schema does not have. */
  example(operation: string): Node {
    const known = this.#examples.get(operation);
    if (known) return known;
    const example = this.#exampleOf(operation);
    this.#examples.set(operation, example);
    return example;
  }

  #exampleOf(operation: string): Node {
    const [method = '', path = ''] = operation.split(' ');
    const content = ['paths', path, method.toLowerCase(), 'responses', '200', 'content', 'application/json'];
    const [name = ''] = Object.keys(this.#at([...content, 'examples']));
    const value = this.#at([...this.#resolve([...content, 'examples', name]), 'value']);
    const one = Array.isArray(value) ? value[0] : value;
    const schema = this.#at([...content, 'schema']);
    return this.#described(
      one,
      schema['type'] === 'array' ? [...content, 'schema', 'items'] : [...content, 'schema'],
    ) as Node;
  }

  /** `value` with the fields that the schema has. */
  #described(value: unknown, schema: Pointer): unknown {
    const place = this.#resolve(schema);
    const properties = this.#at([...place, 'properties']);
    if (Array.isArray(value)) return value.map((each) => this.#described(each, [...place, 'items']));
    if (typeof value !== 'object' || value === null || !properties) return value;
    return Object.fromEntries(
      Object.entries(value).flatMap(([name, each]) =>
        name in properties ? [[name, this.#described(each, [...place, 'properties', name])]] : [],
      ),
    );
  }

  #find(method: string, pathname: string): DescribedRequest {
    const segments = pathname.split('/');
    for (const [verb, template] of operations) {
      const parts = template.split('/');
      const rest = parts.at(-1) === '{ref}';
      if (verb.toUpperCase() !== method || (rest ? segments.length < parts.length : segments.length !== parts.length))
        continue;
      const path: Record<string, string> = {};
      const matches = parts.every((part, index) => {
        const last = rest && index === parts.length - 1;
        const text = (last ? segments.slice(index) : segments.slice(index, index + 1))
          .map(decodeURIComponent)
          .join('/');
        if (!part.startsWith('{')) return part === text;
        path[part.slice(1, -1)] = text;
        return text !== '';
      });
      if (matches) return { operation: `${method} ${template}`, pointer: ['paths', template, verb], path };
    }
    throw new Error(`${method} ${pathname}: not an operation that a retirement may call`);
  }

  #parameters(pointer: Pointer): readonly Pointer[] {
    const own = (this.#at([...pointer, 'parameters']) ?? []) as unknown as readonly unknown[];
    return own.map((_each, index) => this.#resolve([...pointer, 'parameters', String(index)]));
  }

  async #expect(schema: Pointer, value: Json, what: string): Promise<void> {
    const place = `${uri}#/${schema.map((key) => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`;
    let check = this.#validators.get(place);
    if (!check) {
      const validator = await validate(place);
      check = (given) => {
        const output = validator(given, 'BASIC');
        const errors = output.valid ? [] : (output.errors ?? []);
        return { valid: output.valid, errors: errors.map((each) => `${each.instanceLocation} ${each.keyword}`) };
      };
      this.#validators.set(place, check);
    }
    const { valid, errors } = check(value);
    if (!valid) throw new Error(`${what}: ${errors.join('; ')}\n${JSON.stringify(value)?.slice(0, 500)}`);
  }

  #resolve(pointer: Pointer): Pointer {
    const ref = this.#at(pointer)?.['$ref'];
    return typeof ref === 'string' ? this.#resolve(ref.replace(/^#\//, '').split('/')) : pointer;
  }

  #at(pointer: Pointer): Node {
    return pointer.reduce<Node>((node, key) => node?.[key] as Node, this.#document);
  }
}

function readCut(): Node {
  const folder = new URL('../../node_modules/@octokit/openapi/generated/', import.meta.url);
  // One description for each kind of installation; that of the public one is named after its API's address.
  const name = readdirSync(folder).find((each) => each.startsWith('api.') && !each.includes('.deref.')) ?? '';
  const whole = JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as Node;
  const cut: Record<string, Record<string, Record<string, unknown>>> = { paths: {}, components: {} };
  const take = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const { $ref: ref } = node as Node;
    if (typeof ref !== 'string') {
      for (const each of Object.values(node)) take(each);
      return;
    }
    const [, kind = '', name = ''] = ref.replace(/^#\//, '').split('/');
    const kept = cut['components']![kind] ?? {};
    cut['components']![kind] = kept;
    if (name in kept) return;
    const found = ((whole['components'] as Node)[kind] as Node)[name];
    kept[name] = found;
    take(found);
  };
  for (const [method, path] of operations) {
    const operation = ((whole['paths'] as Node)[path] as Node)[method];
    cut['paths']![path] = { ...cut['paths']![path], [method]: operation };
    take(operation);
  }
  take({ $ref: '#/components/schemas/basic-error' });
  close(cut);
  registerSchema({ ...cut, openapi: whole['openapi'], info: whole['info'] } as never, uri, dialect);
  return cut;
}

/** Let no object have fields that its schema does not name. */
function close(node: unknown): void {
  if (typeof node !== 'object' || node === null) return;
  const schema = node as Record<string, unknown>;
  // Notes on versions to come; their form is not that of a schema.
  delete schema['x-github-breaking-changes'];
  const combined = ['allOf', 'anyOf', 'oneOf'].some((key) => key in schema);
  if (schema['type'] === 'object' && 'properties' in schema && !('additionalProperties' in schema) && !combined) {
    schema['additionalProperties'] = false;
  }
  Object.values(schema).forEach(close);
}
