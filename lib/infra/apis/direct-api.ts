import { IdentitySource } from 'aws-cdk-lib/aws-apigateway';
import type { Construct } from 'constructs';
import { directChallenge, ticketPartsRoute } from '../../contract/http.ts';
import type { directFunctions } from '../functions/direct.ts';
import { compatibilityRoutes, compatibleClients } from './compatibility.ts';
import { ServiceApi, type ServiceApiProps } from './service-api.ts';

type DirectApiProps = Pick<ServiceApiProps, 'description' | 'settings'> & ReturnType<typeof directFunctions>;

/** The direct API: datasets and files for callers with a visa, and GA4GH DRS and htsget over the same files. */
export class DirectApi extends ServiceApi {
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
    const behind = {
      authorizer: this.authorizer('Visas', props.authorizeVisa, [IdentitySource.header('Authorization')]),
      reason: 'Visas and passports (GA4GH) by a Lambda authorizer.',
    };
    const streamed = { ...behind, streamed: true };
    const serviceInfo = { reason: 'GA4GH service-info 1.0 is public by definition.' };
    this.addRoute('GET HEAD', '/service-info', props.serviceInfo, serviceInfo);

    this.addRoute('GET', '/metadata/datasets', props.datasets, streamed);
    this.addRoute('GET', '/metadata/datasets/{datasetId}/files', props.datasets, streamed);
    // Of the segments below a file, API Gateway prefers the literal ones.
    for (const below of ['', '/header', '/content', '/{name}']) {
      this.addRoute('GET HEAD', `/files/{fileId}${below}`, props.directFile, streamed);
    }

    // GA4GH DRS 1.5. The POST forms carry passports in the body, which no authorizer can see.
    const object = '/ga4gh/drs/v1/objects/{object_id}';
    const { drs } = props;
    for (const path of [object, `${object}/access/{access_id}`]) {
      this.addRoute('GET HEAD', path, drs, behind);
      this.addRoute('POST', path, drs, { reason: 'The function verifies the passports in the body.' });
    }
    this.addRoute('OPTIONS', object, drs, { reason: 'The reply says how to authenticate, and nothing else.' });
    this.addRoute('GET HEAD', '/ga4gh/drs/v1/service-info', drs, serviceInfo);

    // htsget 1.3. An id may be a dataset and a path, with its own slashes. What strangers may ask goes to a function without keys.
    const preflight = { reason: 'The reply says what a page may send, and nothing else.' };
    for (const tickets of ['/htsget/reads', '/htsget/variants']) {
      this.addRoute('GET POST', `${tickets}/{id+}`, props.htsget, streamed);
      this.addRoute('OPTIONS', `${tickets}/{id+}`, props.serviceInfo, preflight);
      this.addRoute('GET HEAD', `${tickets}/service-info`, props.serviceInfo, serviceInfo);
    }
    this.addRoute('GET HEAD', ticketPartsRoute, props.htsget, streamed);
    this.addRoute('OPTIONS', ticketPartsRoute, props.serviceInfo, preflight);

    for (const [verb, path, target, open] of clients.flatMap((client) => compatibilityRoutes[client])) {
      const guard = open === undefined ? behind : { reason: open };
      this.addRoute(verb, path, props[target], { ...guard, streamed: target !== 'serviceInfo' });
    }
    this.addOpenApi(props.openApi);
  }
}
