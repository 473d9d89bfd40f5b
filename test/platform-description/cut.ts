#!/usr/bin/env node
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

type Node = Readonly<Record<string, unknown>>;

/** The operations that a retirement may call. */
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

/** The schema of an error that an operation does not describe. */
const errorSchema = 'basic-error';

/**
 * An OpenAPI 3.0 description cut to some operations. Parameters, bodies, replies and one example of each reply that is a
 * single object stay, with the schemas they need. An example keeps the fields that its schema requires. Prose, other media types and extensions go.
 *
 * @throws Error when the description has no such operation or schema
 */
export function cut(whole: Node, wanted: readonly (readonly [method: string, path: string])[]): Node {
  const at = (...path: readonly string[]) => {
    const found = path.reduce<unknown>((node, key) => (node as Node | undefined)?.[key], whole);
    if (found === undefined) throw new Error(`the description has no ${path.join(' ')}`);
    return found as Node;
  };
  const resolve = (node: Node): Node => {
    const { $ref: ref } = node;
    return typeof ref === 'string' ? resolve(at(...ref.slice(2).split('/'))) : node;
  };
  const schemas: Record<string, Node> = {};
  const takeSchema = (name: string) => {
    if (name in schemas) return;
    // Set before its fields are looked at: a schema may contain itself.
    schemas[name] = {};
    schemas[name] = withoutProse(at('components', 'schemas', name), takeSchema);
  };
  const schemaIn = (node: Node) => withoutProse(node.schema as Node, takeSchema);
  const jsonOf = (node: Node) => (node.content as Node | undefined)?.['application/json'] as Node | undefined;

  // OpenAPI asks for a description of every reply.
  const description = '';
  const takeReply = (reply: Node): Node => {
    const json = jsonOf(reply);
    if (json === undefined) return { description };
    const [example] = Object.values((json.examples ?? {}) as Readonly<Record<string, Node>>);
    const value = example && resolve(example).value;
    const kept =
      value !== undefined && !Array.isArray(value) ? { example: pruned(value, json.schema as Node, resolve) } : {};
    return { description, content: { 'application/json': { schema: schemaIn(json), ...kept } } };
  };
  const takeOperation = (operation: Node): Node => {
    const parameters = ((operation.parameters ?? []) as readonly Node[]).map(resolve);
    const body = jsonOf((operation.requestBody ?? {}) as Node);
    const replies = Object.entries(operation.responses as Node);
    return {
      parameters: parameters.map(({ name, in: place, required, schema }) => ({
        name,
        in: place,
        required,
        schema: withoutProse(schema as Node, takeSchema),
      })),
      ...(body ? { requestBody: { content: { 'application/json': { schema: schemaIn(body) } } } } : {}),
      responses: Object.fromEntries(replies.map(([status, reply]) => [status, takeReply(resolve(reply as Node))])),
    };
  };

  const paths: Record<string, Record<string, Node>> = {};
  for (const [method, path] of wanted) {
    paths[path] = { ...paths[path], [method]: takeOperation(at('paths', path, method)) };
  }
  takeSchema(errorSchema);
  return { openapi: whole.openapi, paths, components: { schemas } };
}

/** A schema without prose, examples, defaults and extensions; `onReference` is told each schema it refers to. */
function withoutProse(schema: Node, onReference: (name: string) => void): Node {
  const take = (each: unknown) => withoutProse(each as Node, onReference);
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === '$ref') onReference(String(value).replace('#/components/schemas/', ''));
    if (/^(x-.*|title|description|examples?|default|deprecated|externalDocs)$/.test(key)) continue;
    if (key === 'properties') {
      kept[key] = Object.fromEntries(Object.entries(value as Node).map(([name, each]) => [name, take(each)]));
    } else if (Array.isArray(value)) kept[key] = /^(all|any|one)Of$/.test(key) ? value.map(take) : value;
    else kept[key] = typeof value === 'object' && value !== null ? take(value) : value;
  }
  return kept;
}

/** An example's fields that its schema requires, at every depth. */
function pruned(example: unknown, schema: Node, resolve: (node: Node) => Node): unknown {
  if (typeof example !== 'object' || example === null) return example;
  const { required: names = [], properties } = resolve(schema);
  if (properties === undefined) return example;
  const kept = Object.entries(example).filter(([name]) => (names as readonly string[]).includes(name));
  return Object.fromEntries(
    kept.map(([name, value]) => [name, pruned(value, (properties as Node)[name] as Node, resolve)]),
  );
}

/**
 * Writes the cut of the npm package `@octokit/openapi` beside this file, with the package's licence (MIT).
 *
 * @param folder the unpacked package, as from `npm pack @octokit/openapi@23.0.2 && tar -xf octokit-openapi-23.0.2.tgz`
 */
function main(folder: string | undefined): void {
  if (folder === undefined) throw new Error('usage: node cut.ts FOLDER, the unpacked package @octokit/openapi');
  const read = (...path: readonly string[]) => readFileSync(join(folder, ...path), 'utf8');
  const { name, version, license } = JSON.parse(read('package.json'));
  // One description for each kind of installation; that of the public one is named after its API's address.
  const file = readdirSync(join(folder, 'generated')).find((each) => /^api\.(?!.*\.deref\.)/.test(each)) ?? '';
  const host = file.slice('api.'.length, -'.json'.length);
  const whole = JSON.parse(read('generated', file).replaceAll(host, 'platform.example.org'));
  const info = { title: `The operations of a retirement, cut from ${name}`, version, license: { name: license } };
  writeFileSync(
    join(import.meta.dirname, 'description.json'),
    `${JSON.stringify({ info, ...cut(whole, operations) }, null, 1)}\n`,
  );
  copyFileSync(join(folder, 'LICENSE'), join(import.meta.dirname, 'LICENSE'));
}

if (import.meta.main) main(process.argv[2]);
