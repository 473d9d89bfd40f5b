import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MethodOptions } from 'aws-cdk-lib/aws-apigateway';
import { parse } from 'yaml';
import { repository } from '../functions/bundling.ts';
import type { ServiceFunction } from '../functions/service-function.ts';
import type { ServiceApi } from './service-api.ts';

interface OpenApiDocumentProps {
  readonly api: ServiceApi;
  /** Which document of `docs/openapi/`. */
  readonly name: 'delivery' | 'direct';
  /** Serves it. */
  readonly target: ServiceFunction;
}

/** A parameter, as far as API Gateway can check it: it checks that one is present and has no rules for values. */
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
}

/** Operations by path and method. */
type Paths = Readonly<Record<string, Readonly<Record<string, { readonly parameters?: readonly Parameter[] }>>>>;

/** By name: an app may have the stacks of many settings. */
const read = new Map<string, Paths>();

function pathsOf(name: string): Paths {
  const paths = read.get(name) ?? parse(readFileSync(join(repository, 'docs/openapi', `${name}.yaml`), 'utf8')).paths;
  read.set(name, paths);
  return paths;
}

/** The OpenAPI document of an API: served at `/openapi.json` without credentials, and the source of the gateway's checks. */
export class OpenApiDocument {
  readonly #api: ServiceApi;
  readonly #paths: Paths;

  constructor({ api, name, target }: OpenApiDocumentProps) {
    this.#api = api;
    this.#paths = pathsOf(name);
    api.addPublic(api.api.root.addResource('openapi.json'), target, 'The reply is documentation and holds no data.');
  }

  /** The query parameters and headers without which the gateway refuses a request before it calls the function. */
  requiredParameters(method: string, path: string): Pick<MethodOptions, 'requestParameters'> {
    const operation = this.#paths[path]?.[method.toLowerCase()];
    if (!operation) throw new Error(`${method} ${path} is not in the document of ${this.#api.node.path}`);
    const required = (operation.parameters ?? []).filter((parameter) => parameter.required && parameter.in !== 'path');
    const places: Readonly<Record<string, string>> = { query: 'querystring', header: 'header' };
    const entries = required.map((parameter) => [`method.request.${places[parameter.in]}.${parameter.name}`, true]);
    return { requestParameters: Object.fromEntries(entries) };
  }
}
