import { Duration } from 'aws-cdk-lib';
import { environment } from '../../contract/environment.ts';
import type { Settings } from '../settings.ts';
import type { StorageStack } from '../storage-stack.ts';
import type { ServiceFunction, ServiceFunctionProps } from './service-function.ts';

/** API Gateway gives up after 29 seconds. */
export const apiTimeout = Duration.seconds(29);
/**
 * A streamed reply may take longer. 200 MB take 100 seconds at the 2 MB/s that Lambda allows after the first 6 MB. API
 * Gateway waits up to five minutes for the first byte; meanwhile S3 assembles the container of a large file, or lists the
 * rows before a late page.
 */
export const streamTimeout = Duration.minutes(5);

export interface FunctionsProps {
  readonly settings: Settings;
  readonly storage: StorageStack;
}

/** Makes a function of this name and entry file, with the grants that follow from its options. */
export type Make = (
  name: string,
  entry: string,
  options: Omit<ServiceFunctionProps, 'entry' | 'logRetentionDays'>,
) => ServiceFunction;

/** Tells a function where researchers sign in. */
export function configureLogin(target: ServiceFunction, { login }: Settings): void {
  if (login) target.configure(environment.login, JSON.stringify({ scopes: ['openid', 'ga4gh_passport_v1'], ...login }));
}

/** The function that serves the OpenAPI document of an API. */
export function openApiFunction(make: Make, name: 'ProxyOpenApi' | 'DataOutOpenApi'): ServiceFunction {
  return make(name, 'openapi.ts', {
    description: 'Says how this API is used',
    limits: [256, Duration.seconds(10)],
    openApiDocument: name === 'ProxyOpenApi' ? 'delivery' : 'direct',
  });
}
