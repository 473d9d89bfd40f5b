import { CfnOutput, Stack } from 'aws-cdk-lib';
import {
  BasePathMapping,
  DomainName,
  EndpointAccessMode,
  EndpointType,
  type RestApi,
  SecurityPolicy,
} from 'aws-cdk-lib/aws-apigateway';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import { Construct } from 'constructs';
import type { Domain } from '../settings.ts';

/**
 * A host name of the operator's own for an API, with the TLS policy of the API itself. The API begins at the root of the host:
 * there, clients look for DRS objects (GA4GH DRS 1.5.0, hostname-based URIs).
 */
export class OwnDomain extends Construct {
  /** @param outputName output of the stack with the name that the operator's DNS record must point to */
  constructor(scope: Construct, id: string, api: RestApi, domain: Domain, outputName: string) {
    super(scope, id);
    const { name, certificateArn } = domain;
    const domainName = new DomainName(this, 'Name', {
      domainName: name,
      certificate: Certificate.fromCertificateArn(this, 'Certificate', certificateArn),
      endpointType: EndpointType.REGIONAL,
      securityPolicy: SecurityPolicy.TLS13_1_2_PFS_PQ_2025_09,
      endpointAccessMode: EndpointAccessMode.STRICT,
    });
    new BasePathMapping(this, 'Mapping', {
      domainName,
      restApi: api,
      stage: api.deploymentStage,
    });
    new CfnOutput(Stack.of(this), outputName, { value: domainName.domainNameAliasDomainName });
  }
}
