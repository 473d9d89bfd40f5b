import type { Json } from '@hyperjump/json-pointer';
import {
  registerSchema,
  setShouldValidateFormat,
  setShouldValidateSchema,
  validate,
} from '@hyperjump/json-schema/openapi-3-0';
import '@hyperjump/json-schema/formats';
import cut from '../platform-description/description.json' with { type: 'json' };

// Test files share the validator of their process: each helper sets all that it needs.
setShouldValidateFormat(true);
// With formats, the validator refuses each `$ref` of an OpenAPI 3.0 document.
setShouldValidateSchema(false);

type Node = Readonly<Record<string, unknown>>;
type Pointer = readonly string[];

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
 * The platform's published OpenAPI description, cut to the operations that a retirement may call
 * (`test/platform-description`). Its objects allow unknown fields; here they do not, so that the test server invents none.
 */
export class PlatformDescription {
  readonly #document: Node;
  readonly #validators = new Map<
    string,
    (value: Json) => { readonly valid: boolean; readonly errors: readonly string[] }
  >();

  private constructor() {
    const document = structuredClone(cut);
    close(document);
    registerSchema(document as never, uri, dialect);
    this.#document = document;
  }

  static #known: PlatformDescription | undefined;

  /** One instance for a test file: a schema is registered once. */
  static read(): PlatformDescription {
    PlatformDescription.#known ??= new PlatformDescription();
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
        const place = known.find((each) => this.#at(each).name === name && this.#at(each).in === where);
        if (!place) throw new Error(`${operation}: no ${where} parameter ${name}`);
        const schema = [...place, 'schema'];
        const value = this.#at(schema).type === 'integer' ? Number(text) : text;
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
    const schema = [...response, 'content', 'application/json', 'schema'];
    if (body === undefined) {
      if (this.#at(schema)) throw new Error(`${operation} ${status}: no body`);
      return;
    }
    const error = ['components', 'schemas', 'basic-error'];
    await this.#expect(this.#at(schema) ? schema : error, body, `${operation} ${status}`);
  }

  /** The description's own example of a reply: what its schema requires. */
  example(operation: string): Node {
    const [method = '', path = ''] = operation.split(' ');
    const reply = ['paths', path, method.toLowerCase(), 'responses', '200', 'content', 'application/json'];
    return this.#at([...reply, 'example']);
  }

  #find(method: string, pathname: string): DescribedRequest {
    const segments = pathname.split('/');
    const operations = Object.entries(cut.paths).flatMap(([template, verbs]) =>
      Object.keys(verbs).map((verb) => [template, verb] as const),
    );
    for (const [template, verb] of operations) {
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
    return own.map((_each, index) => [...pointer, 'parameters', String(index)]);
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

  #at(pointer: Pointer): Node {
    return pointer.reduce<Node>((node, key) => node?.[key] as Node, this.#document);
  }
}

/** Let no object have fields that its schema does not name. */
function close(node: unknown): void {
  if (typeof node !== 'object' || node === null) return;
  const schema = node as Record<string, unknown>;
  const combined = ['allOf', 'anyOf', 'oneOf'].some((key) => key in schema);
  if (schema.type === 'object' && 'properties' in schema && !('additionalProperties' in schema) && !combined) {
    schema.additionalProperties = false;
  }
  Object.values(schema).forEach(close);
}
