import { SecretValue } from 'aws-cdk-lib';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import type { EnvironmentVariable } from '../../contract/environment.ts';
import type { ServiceFunction } from '../functions/service-function.ts';
import { allowKey, newKey } from '../security/keys.ts';
import { acknowledge } from '../security/rules.ts';
import type { ExistingSecret } from '../settings.ts';

interface OperatorSecretProps {
  readonly description: string;
  /** The document a new secret starts with: an empty list. The template shows it unencrypted, so it must hold no secret. */
  readonly emptyDocument: string;
  /** Of the customer key of a new secret. @default - `description` */
  readonly keyDescription?: string;
  /** Variable that names the secret to the functions that may read it. */
  readonly variable: EnvironmentVariable;
  readonly existing?: ExistingSecret | undefined;
}

/** A secret, and the customer key that it is under, if any. */
export interface ReadableSecret {
  readonly secretArn: string;
  readonly keyArn: string | undefined;
}

/** Read a secret, and use its key for that. */
export function allowReading(grantee: ServiceFunction, scope: Construct, { secretArn, keyArn }: ReadableSecret): void {
  grantee.allow({ actions: ['secretsmanager:GetSecretValue'], resources: [secretArn] });
  allowKey(grantee, scope, { service: 'secretsmanager', actions: ['kms:Decrypt'], keyArn });
}

/** A secret that the operator's tool fills after the deployment. */
export class OperatorSecret extends Construct {
  readonly secretArn: string;
  readonly #keyArn: string | undefined;
  readonly #variable: EnvironmentVariable;

  constructor(scope: Construct, id: string, props: OperatorSecretProps) {
    super(scope, id);
    this.#variable = props.variable;
    if (props.existing) {
      this.secretArn = props.existing.secretArn;
      this.#keyArn = props.existing.keyArn;
      return;
    }
    const key = newKey(this, `${id}Key`, props.keyDescription ?? props.description);
    const secret = new Secret(this, 'Secret', {
      description: props.description,
      secretStringValue: SecretValue.unsafePlainText(props.emptyDocument),
      encryptionKey: key,
    });
    acknowledge(secret, {
      secretRotation:
        'The secret holds a list that an operator maintains. Only the operator knows when an entry, such as an old key, can be removed.',
    });
    this.secretArn = secret.secretArn;
    this.#keyArn = key.keyArn;
  }

  grantRead(grantee: ServiceFunction): void {
    allowReading(grantee, this, { secretArn: this.secretArn, keyArn: this.#keyArn });
    grantee.configure(this.#variable, this.secretArn);
  }
}
