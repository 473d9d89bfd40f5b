import { IdentitySource } from 'aws-cdk-lib/aws-apigateway';
import type { Construct } from 'constructs';
import { proxyChallenge } from '../../contract/http.ts';
import type { deliveryFunctions } from '../functions/delivery.ts';
import { ServiceApi, type ServiceApiProps } from './service-api.ts';

type DeliveryApiProps = Pick<ServiceApiProps, 'description' | 'settings'> & ReturnType<typeof deliveryFunctions>;

/** The API for administrators and researchers: export, state of exports, list, stream, keys of delivery receipts, and what the service is. */
export class DeliveryApi extends ServiceApi {
  constructor(scope: Construct, id: string, props: DeliveryApiProps) {
    const { archiveKind, throttling } = props.settings;
    super(scope, id, {
      ...props,
      domain: props.settings.domains?.proxy,
      challenge: {
        header: proxyChallenge,
        detail:
          'The credentials are missing: send Authorization: Basic; to list and stream also a visa, in Proxy-Authorization: Bearer or X-GA4GH-Visa.',
      },
      methodThrottling: {
        [`/export/${archiveKind}/POST`]: throttling.export,
        [`/export/${archiveKind}/GET`]: throttling.export,
        [`/export/${archiveKind}/{requestId}/GET`]: throttling.export,
        ...(props.adminPage && { '/admin/GET': throttling.export }),
      },
    });
    const administrators = {
      authorizer: this.authorizer('Administrators', props.authorizeAdmin, [IdentitySource.header('Authorization')]),
      reason: 'HTTP Basic by a Lambda authorizer, as clients in the field expect.',
    };
    // A literal, not a parameter: any other kind is 404 before anything runs.
    this.addRoute('POST', `/export/${archiveKind}`, props.exportRequest, administrators);
    this.addRoute('GET', `/export/${archiveKind}`, props.exportStatus, administrators);
    this.addRoute('GET', `/export/${archiveKind}/{requestId}`, props.exportStatus, administrators);
    if (props.adminPage) this.addRoute('GET', '/admin', props.adminPage, administrators);

    const recipients = {
      // With no identity source API Gateway never refuses automatically. The function says what is missing, and a client
      // that sends the visa alone passes where the settings allow it.
      authorizer: this.authorizer('Recipients', props.authorizeOutbox, []),
      reason: "Visas (GA4GH) and the archive's Basic credentials by a Lambda authorizer.",
      streamed: true,
    };
    this.addRoute('GET', '/files', props.files, {
      ...recipients,
      requestParameters: { 'method.request.querystring.inbox': true },
      requestValidator: this.api.addRequestValidator('Parameters', { validateRequestParameters: true }),
    });
    this.addRoute('GET HEAD', '/stream/{file}', props.stream, recipients);
    const keys = 'The keys are public: everyone who has a receipt may check it.';
    this.addRoute('GET HEAD', '/.well-known/jwks.json', props.jwks, { reason: keys });
    const about = 'Who has no visa yet learns here where to get one.';
    this.addRoute('GET HEAD', '/.well-known/data-out', props.about, { reason: about });
    this.addOpenApi(props.openApi);
  }
}
