import { AuthorizationType } from 'aws-cdk-lib/aws-apigateway';
import type { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import { ServiceApi, type ServiceApiProps } from './service-api.ts';
import type { ServiceFunction } from './service-function.ts';

export interface DataOutApiProps extends ServiceApiProps {
  readonly serviceInfo: ServiceFunction;
}

/** The data-out side's own API. */
export class DataOutApi extends ServiceApi {
  constructor(scope: Construct, id: string, props: DataOutApiProps) {
    super(scope, id, props);
    const method = this.api.root
      .addResource('service-info')
      .addMethod('GET', this.integrate(props.serviceInfo), { authorizationType: AuthorizationType.NONE });
    acknowledge(method, 'GA4GH service-info 1.0 is public by definition.', 'AwsSolutions-APIG4', 'AwsSolutions-COG4');
    acknowledge(this.api, 'The only route takes neither parameters nor a body.', 'AwsSolutions-APIG2');
  }
}
