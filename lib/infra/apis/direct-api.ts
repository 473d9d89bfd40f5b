import {
  AuthorizationType,
  IdentitySource,
  type IResource,
  type RequestAuthorizer,
  ResponseTransferMode,
} from 'aws-cdk-lib/aws-apigateway';
import type { Construct } from 'constructs';
import { directChallenge, ticketPartsRoute } from '../../contract/http.ts';
import type { directFunctions } from '../functions/direct.ts';
import type { ServiceFunction } from '../functions/service-function.ts';
import { acknowledge } from '../security/rules.ts';
import { type CompatibilityRoute, compatibilityRoutes, compatibleClients } from './compatibility.ts';
import { OpenApiDocument } from './openapi-document.ts';
import { ServiceApi, type ServiceApiProps } from './service-api.ts';

type DirectApiProps = Pick<ServiceApiProps, 'description' | 'settings'> & ReturnType<typeof directFunctions>;

const open = { authorizationType: AuthorizationType.NONE } as const;

/** The direct API: datasets and files for callers with a visa, and GA4GH DRS over the same files. */
export class DirectApi extends ServiceApi {
  readonly #authorizer: RequestAuthorizer;

  constructor(scope: Construct, id: string, props: DirectApiProps) {
    const clients = compatibleClients.filter((client) => props.settings.compatibility?.includes(client));
    super(scope, id, {
      ...props,
      domain: props.settings.domains?.dataOut,
      methodThrottling: clients.includes('ega') ? { '/ega/token/POST': props.settings.throttling.export } : {},
      challenge: {
        header: directChallenge,
        detail: 'a visa or a passport is missing: send Authorization: Bearer',
      },
    });
    const { root } = this.api;
    this.#authorizer = this.authorizer('Visas', props.authorizeVisa, [IdentitySource.header('Authorization')]);
    this.#addServiceInfo(root, props.serviceInfo);

    const datasets = root.addResource('metadata').addResource('datasets');
    for (const resource of [datasets, datasets.addResource('{datasetId}').addResource('files')]) {
      this.#behindVisas(resource, ['GET'], props.datasets);
    }

    const file = root.addResource('files').addResource('{fileId}');
    // Of the segments below a file, API Gateway prefers the literal ones.
    const halves = [file.addResource('header'), file.addResource('content')];
    for (const resource of [file, ...halves, file.addResource('{name}')]) {
      this.#behindVisas(resource, ['GET', 'HEAD'], props.directFile);
    }
    this.#addDrs(root, props.drs);
    this.#addHtsget(root, props);
    for (const route of clients.flatMap((client) => compatibilityRoutes[client])) this.#addCompatibility(route, props);
    new OpenApiDocument({ api: this, name: 'direct', target: props.openApi });
  }

  /** GA4GH DRS 1.5. The POST forms carry passports in the body, which no authorizer can see: the function verifies them. */
  #addDrs(root: IResource, drs: ServiceFunction): void {
    const base = root.addResource('ga4gh').addResource('drs').addResource('v1');
    const object = base.addResource('objects').addResource('{object_id}');
    const access = object.addResource('access').addResource('{access_id}');
    for (const resource of [object, access]) this.#behindVisas(resource, ['GET', 'HEAD'], drs, false);
    const integration = this.integrate(drs);
    for (const resource of [object, access]) {
      acknowledge(resource.addMethod('POST', integration, open), {
        methodWithoutCredentials: 'The function verifies the passports in the body.',
      });
    }
    const options = object.addMethod('OPTIONS', integration, open);
    acknowledge(options, { 'AwsSolutions-APIG4': 'The reply says how to authenticate, and nothing else.' });
    this.#addServiceInfo(base, drs);
  }

  /**
   * htsget 1.3. An id may be a dataset and a path, with its own slashes. What strangers may ask goes to a function without
   * keys.
   */
  #addHtsget(root: IResource, { htsget, serviceInfo }: Pick<DirectApiProps, 'htsget' | 'serviceInfo'>): void {
    const base = root.addResource('htsget');
    const preflight = (resource: IResource) =>
      acknowledge(resource.addMethod('OPTIONS', this.integrate(serviceInfo), open), {
        'AwsSolutions-APIG4': 'The reply says what a page may send, and nothing else.',
      });
    for (const datatype of ['reads', 'variants']) {
      const tickets = base.addResource(datatype);
      const ticket = tickets.addResource('{id+}');
      this.#behindVisas(ticket, ['GET', 'POST'], htsget);
      preflight(ticket);
      this.#addServiceInfo(tickets, serviceInfo);
    }
    const [, , parts = '', ...variables] = ticketPartsRoute.split('/');
    const part = variables.reduce((parent, name) => parent.addResource(name), base.addResource(parts));
    this.#behindVisas(part, ['GET', 'HEAD'], htsget);
    preflight(part);
  }

  /** A route that only the clients of other archives ask for. */
  #addCompatibility({ method, path, target, open: reason }: CompatibilityRoute, props: DirectApiProps): void {
    const resource = this.api.root.resourceForPath(path);
    if (reason === undefined) this.#behindVisas(resource, [method], props[target]);
    else {
      const streamed = target !== 'serviceInfo' && { responseTransferMode: ResponseTransferMode.STREAM };
      const integration = this.integrate(props[target], streamed);
      acknowledge(resource.addMethod(method, integration, open), { methodWithoutCredentials: reason });
    }
  }

  #behindVisas(resource: IResource, verbs: readonly string[], target: ServiceFunction, streamed = true): void {
    const reason = 'Visas and passports (GA4GH) by a Lambda authorizer.';
    this.addGuarded(resource, verbs, target, { authorizer: this.#authorizer, reason, streamed });
  }

  #addServiceInfo(base: IResource, target: ServiceFunction): void {
    this.addPublic(base.addResource('service-info'), target, 'GA4GH service-info 1.0 is public by definition.');
  }
}
