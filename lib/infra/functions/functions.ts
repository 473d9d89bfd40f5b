import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { environment } from '../../contract/environment.ts';
import { TicketKey } from '../security/ticket-key.ts';
import { deliveryFunctions } from './delivery.ts';
import { directFunctions } from './direct.ts';
import type { FunctionsProps, Make } from './make.ts';
import { ServiceFunction } from './service-function.ts';
import { workerFunctions } from './workers.ts';

/** All functions of the service, with the grants of each on the storage stack. */
export class Functions extends Construct {
  readonly delivery: ReturnType<typeof deliveryFunctions>;
  /** Absent: the direct API is off. */
  readonly direct: ReturnType<typeof directFunctions> | undefined;
  readonly workers: ReturnType<typeof workerFunctions>;
  readonly deployment: ReturnType<typeof deploymentFunctions>;

  constructor(scope: Construct, id: string, props: FunctionsProps) {
    super(scope, id);
    const { settings, storage } = props;
    const make: Make = (name, entry, options) => {
      const made = new ServiceFunction(this, name, { entry, ...options, logRetentionDays: settings.logRetentionDays });
      if (options.verifiesVisas) storage.visaDenyList.grantRead(made);
      return made;
    };
    this.delivery = deliveryFunctions(make, props);
    this.direct =
      settings.directAccess === 'off' ? undefined : directFunctions(make, props, new TicketKey(this, 'TicketKey'));
    this.workers = workerFunctions(make, props);
    this.deployment = deploymentFunctions(make, props);
  }

  /** Functions that cannot work before the tables exist. */
  get usingCatalogue(): readonly ServiceFunction[] {
    const { authorizeOutbox, exportStatus } = this.delivery;
    const { datasets, directFile, drs, htsget } = this.direct ?? {};
    const direct = [datasets, directFile, drs, htsget].filter((target) => target !== undefined);
    return [authorizeOutbox, exportStatus, ...this.workingInTheBackground, ...direct];
  }

  /** Functions of the delivery API, which answer a waiting caller. */
  get answeringRequests(): readonly ServiceFunction[] {
    return Object.values(this.delivery).filter((target) => target !== undefined);
  }

  /** Functions of the direct API. */
  get servingDirectly(): readonly ServiceFunction[] {
    return Object.values(this.direct ?? {});
  }

  /** Every function. */
  get all(): readonly ServiceFunction[] {
    const deployment = Object.values(this.deployment);
    return [...this.answeringRequests, ...this.servingDirectly, ...this.workingInTheBackground, ...deployment];
  }

  /** Functions that work on queues, or on a schedule. */
  get workingInTheBackground(): readonly ServiceFunction[] {
    return Object.values(this.workers).filter((worker) => worker !== undefined);
  }
}

/** Functions that CloudFormation runs: one that fails rolls the deployment back. */
function deploymentFunctions(make: Make, { settings, storage }: FunctionsProps) {
  // Lambda publishes no version of an unchanged function. When the settings begin to name the cluster that the storage stack made,
  // the template changes and its ARNs do not: the description makes the difference.
  const cluster = 'clusterArn' in settings.database ? 'the cluster of the settings' : 'its own cluster';
  const migrate = make('Migrate', 'migrate.ts', {
    description: `Brings the catalogue's tables up to date, in ${cluster}`,
    limits: [512, Duration.minutes(12)],
  });
  storage.catalogue.grantMigrate(migrate);
  if (settings.auditRetentionDays !== undefined) {
    migrate.configure(environment.auditRetentionDays, String(settings.auditRetentionDays));
  }

  const protect = make('Protect', 'protect.ts', {
    description: 'Protects the storage stack and its cluster against deletion',
    limits: [256, Duration.minutes(6)],
  });
  storage.grantProtect(protect);

  return { migrate, protect };
}
