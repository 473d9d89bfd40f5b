import { AccountRootPrincipal, PolicyStatement, Role } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { Grantee, Permission } from '../functions/service-function.ts';

/**
 * The role under which an operator moves dead letters back. The work queues take messages from their sender and from
 * this role alone. Each principal of the account may assume it if its own policies allow `sts:AssumeRole` on it.
 */
export class Redrive extends Construct implements Pick<Grantee, 'allow'> {
  readonly roleArn: string;
  readonly #role: Role;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.#role = new Role(this, 'Role', {
      assumedBy: new AccountRootPrincipal(),
      description: 'For operators: moves dead letters back to the queue that they failed in',
    });
    this.roleArn = this.#role.roleArn;
  }

  allow({ actions, resources, conditions }: Omit<Permission, 'wildcard'>): void {
    this.#role.addToPolicy(new PolicyStatement({ actions, resources, ...(conditions && { conditions }) }));
  }
}
