import { Duration } from 'aws-cdk-lib';
import type { Settings } from '../settings.ts';
import type { StorageStack } from '../storage-stack.ts';
import type { ServiceFunction, ServiceFunctionProps } from './service-function.ts';

/** API Gateway gives up after 29 seconds. */
export const apiTimeout = Duration.seconds(29);

export interface FunctionsProps {
  readonly settings: Settings;
  readonly storage: StorageStack;
}

/** Makes a function of this name, with the grants that follow from its options. */
export type Make = (name: string, options: Omit<ServiceFunctionProps, 'logRetentionDays'>) => ServiceFunction;
