import { readFileSync } from 'node:fs';
import {
  registerSchema,
  setShouldValidateFormat,
  setShouldValidateSchema,
  unregisterSchema,
  validate,
} from '@hyperjump/json-schema/openapi-3-1';
import '@hyperjump/json-schema/formats';
import type { Json } from '@hyperjump/json-pointer';
import { parse } from 'yaml';
import { compatibleClients } from '../../lib/infra/apis/compatibility.ts';

setShouldValidateFormat(true);
// Another helper of this process may have switched it off.
setShouldValidateSchema(true);

/** Dialect of the schemas inside an OpenAPI 3.1 document. */
const dialect = 'https://spec.openapis.org/oas/3.1/dialect/base';

/** A reply as it arrived. Header names in any spelling. */
export interface LiveReply {
  readonly method: string;
  /** From the root of the API, without stage and query: `/files`. */
  readonly path: string;
  readonly status: number;
  readonly headers: Iterable<readonly [string, string]>;
  readonly body: string | Uint8Array;
}

/** Headers of the transport, the gateway and the HTTP server. No document describes them. */
const transport =
  /^(connection|keep-alive|date|transfer-encoding|content-length|content-type|x-amzn-requestid|x-amzn-errortype)$/;

type Node = Readonly<Record<string, unknown>>;

/** An OpenAPI document of this project, to hold replies against. */
export class OpenApi {
  readonly document: Node;
  /** `GET /files 200` for every reply that was checked and found right. */
  readonly seen = new Set<string>();
  readonly #uri: string;

  readonly #part: Part;

  private constructor(name: string, document: Node, part: Part) {
    this.document = document;
    this.#part = part;
    this.#uri = `https://data-out.example.org/${name}`;
    // The validator outlives this module where test files share a process.
    unregisterSchema(this.#uri);
    registerSchema(document as never, this.#uri, dialect);
  }

  static #known = new Map<string, OpenApi>();

  /** `docs/openapi/<name>.yaml`; one instance for a test file. @param part default: without routes for clients of other archives */
  static read(name: 'delivery' | 'direct', part: Part = 'always'): OpenApi {
    const known = OpenApi.#known.get(`${name} ${part}`);
    if (known) return known;
    const api = new OpenApi(
      name,
      parse(readFileSync(new URL(`../../docs/openapi/${name}.yaml`, import.meta.url), 'utf8')),
      part,
    );
    OpenApi.#known.set(`${name} ${part}`, api);
    return api;
  }

  /** Every status of every operation: `GET /files 200`. */
  get statuses(): readonly string[] {
    return this.operations.flatMap((operation) =>
      Object.keys(this.#at(...pointerOf(operation), 'responses')).map((status) => `${operation} ${status}`),
    );
  }

  /** `GET /files`, … */
  get operations(): readonly string[] {
    return Object.entries(this.document.paths as Node).flatMap(([path, item]) =>
      Object.keys(item as Node)
        .filter(
          (key) => key !== 'parameters' && ['all', partOf((item as Record<string, Tagged>)[key])].includes(this.#part),
        )
        .map((method) => `${method.toUpperCase()} ${path}`),
    );
  }

  /** Names of the security schemes of an operation, in any combination; none for one that is open. */
  security(operation: string): readonly string[] {
    const own = this.#at(...pointerOf(operation)).security ?? this.document.security;
    return (own as readonly Node[] | undefined)?.flatMap((schemes) => Object.keys(schemes)) ?? [];
  }

  /** Parameters of an operation, with those of its path. */
  parameters(
    operation: string,
  ): readonly { readonly name: string; readonly in: string; readonly required?: boolean }[] {
    const [, path = ''] = operation.split(' ');
    const places: readonly Pointer[] = [['paths', path], pointerOf(operation)];
    return places.flatMap((place) =>
      Object.keys((this.#at(...place).parameters as readonly unknown[] | undefined) ?? []).map(
        (index) => this.#at(...(this.#resolve([...place, 'parameters', index]) ?? [])) as never,
      ),
    );
  }

  /** Problems of the document itself, by the schema that the OpenAPI Initiative publishes for 3.1. */
  async problems(): Promise<readonly string[]> {
    const output = await validate('https://spec.openapis.org/oas/3.1/schema-base', this.document as never, 'BASIC');
    return output.valid ? [] : (output.errors ?? []).map((error) => `${error.instanceLocation} ${error.keyword}`);
  }

  /**
   * Hold a reply against what the document says of it: the status, every header, the media type and the body.
   *
   * @throws Error that lists all that is wrong
   */
  async check(reply: LiveReply): Promise<void> {
    const operation = this.#operationOf(reply);
    const name = `${operation} ${reply.status}`;
    const pointer = this.#resolve([...pointerOf(operation), 'responses', String(reply.status)]);
    if (!pointer) throw new Error(`${name}: not in the document`);
    const headers = new Map([...reply.headers].map(([header, value]) => [header.toLowerCase(), value]));
    const wrong = [
      ...(await this.#wrongHeaders(pointer, headers)),
      ...(await this.#wrongBody(pointer, headers, reply)),
    ];
    if (wrong.length > 0) throw new Error(`${name}: ${wrong.join('; ')}\n${text(reply.body).slice(0, 500)}`);
    this.seen.add(name);
  }

  async #wrongHeaders(response: Pointer, headers: ReadonlyMap<string, string>): Promise<string[]> {
    const described = Object.keys((this.#at(...response).headers as Node | undefined) ?? {});
    const wrong: string[] = [];
    for (const name of described) {
      const pointer = this.#resolve([...response, 'headers', name]) ?? [];
      const value = headers.get(name.toLowerCase());
      if (value === undefined) {
        if (this.#at(...pointer).required === true) wrong.push(`no header ${name}`);
        continue;
      }
      const schema = this.#at(...pointer, 'schema');
      const typed = schema.type === 'integer' && /^-?\d+$/.test(value) ? Number(value) : value;
      for (const problem of await this.#invalid([...pointer, 'schema'], typed))
        wrong.push(`header ${name}: ${problem}`);
    }
    const known = new Set(described.map((name) => name.toLowerCase()));
    for (const name of headers.keys()) {
      if (!known.has(name) && !transport.test(name)) wrong.push(`header ${name} is not in the document`);
    }
    return wrong;
  }

  async #wrongBody(response: Pointer, headers: ReadonlyMap<string, string>, reply: LiveReply): Promise<string[]> {
    const content = this.#at(...response).content as Node | undefined;
    const mediaType = headers.get('content-type')?.split(';')[0] ?? '';
    // A HEAD or an empty reply has no body that its media type could describe wrongly.
    if (reply.method === 'HEAD') return reply.body.length === 0 ? [] : ['a HEAD has a body'];
    if (!content) return reply.body.length === 0 ? [] : ['has a body'];
    if (!(mediaType in content)) return [`media type ${mediaType} is not in the document`];
    if (!('schema' in (content[mediaType] as Node))) return [];
    return await this.#invalid([...response, 'content', mediaType, 'schema'], JSON.parse(text(reply.body)));
  }

  async #invalid(pointer: Pointer, value: Json): Promise<string[]> {
    const fragment = pointer
      .map((key) => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1')))
      .join('/');
    const output = await validate(`${this.#uri}#/${fragment}`, value as never, 'BASIC');
    if (output.valid) return [];
    return (output.errors ?? []).map(
      ({ instanceLocation, absoluteKeywordLocation }) =>
        `${instanceLocation} against ${absoluteKeywordLocation.slice(this.#uri.length)}`,
    );
  }

  /** The operation whose path has these segments; literal ones before parameters. */
  #operationOf({ method, path }: LiveReply): string {
    const segments = path.split('/');
    const matches = this.operations.filter((operation) => {
      const [verb, template = ''] = operation.split(' ');
      const parts = template.split('/');
      return (
        verb === method &&
        parts.length === segments.length &&
        parts.every((part, index) => part.startsWith('{') || part === segments[index])
      );
    });
    const [best] = matches.sort((a, b) => a.split('{').length - b.split('{').length);
    if (!best) throw new Error(`${method} ${path}: not in the document`);
    return best;
  }

  /** The pointer, or the one that its `$ref` leads to; `undefined` when there is nothing. */
  #resolve(pointer: Pointer): Pointer | undefined {
    const node = this.#at(...pointer);
    if (node === undefined) return undefined;
    const ref = node.$ref;
    return typeof ref === 'string' ? this.#resolve(ref.replace(/^#\//, '').split('/')) : pointer;
  }

  #at(...pointer: Pointer): Node {
    return pointer.reduce<Node>((node, key) => node?.[key] as Node, this.document);
  }
}

/** Operations that are always there, or that the setting `compatibility` adds. */
type Part = 'always' | 'compatibility' | 'all';

type Pointer = readonly string[];

type Tagged = { readonly tags: readonly string[] };

function partOf(operation: Tagged | undefined): 'always' | 'compatibility' {
  return compatibleClients.some((client) => operation?.tags.includes(client)) ? 'compatibility' : 'always';
}

function pointerOf(operation: string): Pointer {
  const [method = '', path = ''] = operation.split(' ');
  return ['paths', path, method.toLowerCase()];
}

function text(body: string | Uint8Array): string {
  return typeof body === 'string' ? body : new TextDecoder().decode(body);
}
