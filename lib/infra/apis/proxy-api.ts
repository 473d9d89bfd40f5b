import { Duration } from 'aws-cdk-lib';
import { AuthorizationType, IdentitySource, RequestAuthorizer, ResponseTransferMode } from 'aws-cdk-lib/aws-apigateway';
import type { Construct } from 'constructs';
import { proxyChallenge } from '../../contract/http.ts';
import type { proxyFunctions } from '../functions/proxy.ts';
import { acknowledge } from '../security/rules.ts';
import { OpenApiDocument } from './openapi-document.ts';
import { ServiceApi, type ServiceApiProps } from './service-api.ts';

type ProxyApiProps = Pick<ServiceApiProps, 'description' | 'settings'> & ReturnType<typeof proxyFunctions>;

/** The API for administrators and researchers: export, state of exports, list, stream, keys of delivery receipts, and what the service is. */
export class ProxyApi extends ServiceApi {
  constructor(scope: Construct, id: string, props: ProxyApiProps) {
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
    const { root } = this.api;
    const document = new OpenApiDocument({ api: this, name: 'proxy', target: props.openApi });

    const authorizer = new RequestAuthorizer(this, 'Administrators', {
      handler: props.authorizeAdmin.function,
      identitySources: [IdentitySource.header('Authorization')],
      // A removed administrator is refused at once.
      resultsCacheTtl: Duration.seconds(0),
    });
    const behindAdministrators = { authorizer, authorizationType: AuthorizationType.CUSTOM };
    // A literal, not a parameter: any other kind is 404 before anything runs.
    const exports = root.addResource('export').addResource(archiveKind);
    const status = this.integrate(props.exportStatus);
    for (const method of [
      exports.addMethod('POST', this.integrate(props.exportRequest), behindAdministrators),
      exports.addMethod('GET', status, behindAdministrators),
      exports.addResource('{requestId}').addMethod('GET', status, behindAdministrators),
      ...(props.adminPage
        ? [root.addResource('admin').addMethod('GET', this.integrate(props.adminPage), behindAdministrators)]
        : []),
    ]) {
      acknowledge(method, {
        'AwsSolutions-COG4': 'HTTP Basic by a Lambda authorizer, as clients in the field expect.',
      });
    }

    const behindOutbox = {
      authorizer: new RequestAuthorizer(this, 'Recipients', {
        handler: props.authorizeOutbox.function,
        // With no identity source API Gateway never refuses automatically. The function says what is missing, and a client
        // that sends the visa alone passes where the settings allow it.
        identitySources: [],
        // A visa that has expired is refused at once, and no two callers share an answer.
        resultsCacheTtl: Duration.seconds(0),
      }),
      authorizationType: AuthorizationType.CUSTOM,
    };
    const requestValidator = this.api.addRequestValidator('Parameters', { validateRequestParameters: true });
    const listing = root
      .addResource('files')
      .addMethod('GET', this.integrate(props.files, { responseTransferMode: ResponseTransferMode.STREAM }), {
        ...behindOutbox,
        ...document.requiredParameters('GET', '/files'),
        requestValidator,
      });

    const file = root.addResource('stream').addResource('{file}');
    const streaming = this.integrate(props.stream, { responseTransferMode: ResponseTransferMode.STREAM });
    for (const method of [
      listing,
      file.addMethod('GET', streaming, behindOutbox),
      file.addMethod('HEAD', streaming, behindOutbox),
    ]) {
      acknowledge(method, {
        'AwsSolutions-COG4': "Visas (GA4GH) and the archive's Basic credentials by a Lambda authorizer.",
      });
    }
    const wellKnown = root.addResource('.well-known');
    const reason = 'The keys are public: everyone who has a receipt may check it.';
    this.addPublic(wellKnown.addResource('jwks.json'), props.jwks, reason);
    this.addPublic(wellKnown.addResource('data-out'), props.about, 'Who has no visa yet learns here where to get one.');
    acknowledge(this.api, {
      'AwsSolutions-APIG2':
        'Bodies are checked by the function, which names every violation; a schema here would stop at the first.',
    });
  }
}
