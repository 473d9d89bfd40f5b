import { RemovalPolicy } from 'aws-cdk-lib';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import { environment } from '../../contract/environment.ts';
import type { ServiceFunction } from '../functions/service-function.ts';
import { allowReading } from '../storage/secrets.ts';
import { acknowledge } from './rules.ts';

/** The secret under which the tokens of htsget tickets are made. With it go the tickets of the last day, and nothing else. */
export class TicketKey extends Construct {
  readonly #secretArn: string;
  readonly #keyArn: string;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    const key = new Key(this, 'Key', {
      description: 'Secret of the tokens in htsget tickets',
      enableKeyRotation: true,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const secret = new Secret(this, 'Secret', {
      description: 'Key of the tokens in htsget tickets',
      generateSecretString: {
        secretStringTemplate: '{}',
        generateStringKey: 'key',
        passwordLength: 64,
        excludePunctuation: true,
      },
      encryptionKey: key,
    });
    acknowledge(secret, {
      secretRotation:
        'The key is random, and no person has it. A token that it signs opens one piece of one file, for a day at most.',
    });
    this.#secretArn = secret.secretArn;
    this.#keyArn = key.keyArn;
  }

  grantRead(grantee: ServiceFunction): void {
    allowReading(grantee, this, { secretArn: this.#secretArn, keyArn: this.#keyArn });
    grantee.configure(environment.ticketKeySecretArn, this.#secretArn);
  }
}
