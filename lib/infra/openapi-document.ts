import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Duration } from 'aws-cdk-lib';
import { AuthorizationType, type MethodOptions } from 'aws-cdk-lib/aws-apigateway';
import { Construct } from 'constructs';
import { parse } from 'yaml';
import { acknowledge } from './acknowledge.ts';
import { repository } from './bundling.ts';
import type { ServiceApi } from './service-api.ts';
import { ServiceFunction } from './service-function.ts';

interface OpenApiDocumentProps {
  readonly api: ServiceApi;
  /** Which document of `docs/openapi/`. */
  readonly name: 'proxy' | 'data-out';
  /** Days to keep the function's logs. */
  readonly logRetentionDays: number;
}

/** A parameter as far as API Gateway can check it: that it is there. It has no rules for values. */
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
}

/** The OpenAPI document of an API: served at `/openapi.json`, for everybody, and the source of what the gateway checks. */
export class OpenApiDocument extends Construct {
  readonly #api: ServiceApi;
  readonly #paths: Readonly<Record<string, Readonly<Record<string, { readonly parameters?: readonly Parameter[] }>>>>;

  constructor(scope: Construct, id: string, { api, name, logRetentionDays }: OpenApiDocumentProps) {
    super(scope, id);
    this.#api = api;
    this.#paths = parse(readFileSync(join(repository, 'docs/openapi', `${name}.yaml`), 'utf8')).paths;
    // The last part of its path is the function's short name: another one for each document.
    const target = new ServiceFunction(this, name === 'proxy' ? 'ProxyOpenApi' : 'DataOutOpenApi', {
      entry: `${name}/openapi.ts`,
      description: 'Says how this API is used',
      memoryMegabytes: 256,
      timeout: Duration.seconds(10),
      logRetentionDays,
      openApiDocument: name,
    });
    const method = api.api.root
      .addResource('openapi.json')
      .addMethod('GET', api.integrate(target), { authorizationType: AuthorizationType.NONE });
    acknowledge(method, 'What the documentation says, without any data.', 'AwsSolutions-APIG4', 'AwsSolutions-COG4');
  }

  /** What the gateway checks before it asks the function: that every query parameter and header is there that must be. */
  requiredParameters(method: string, path: string): Pick<MethodOptions, 'requestParameters'> {
    const operation = this.#paths[path]?.[method.toLowerCase()];
    if (!operation) throw new Error(`${method} ${path} is not in the document of ${this.#api.node.path}`);
    const required = (operation.parameters ?? []).filter((parameter) => parameter.required && parameter.in !== 'path');
    const places: Readonly<Record<string, string>> = { query: 'querystring', header: 'header' };
    const entries = required.map((parameter) => [`method.request.${places[parameter.in]}.${parameter.name}`, true]);
    return { requestParameters: Object.fromEntries(entries) };
  }
}
