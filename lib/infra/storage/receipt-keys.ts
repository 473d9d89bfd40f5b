import { Key, KeySpec, KeyUsage } from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import { environment } from '../../contract/environment.ts';
import type { ServiceFunction } from '../functions/service-function.ts';
import { onlyBy } from '../security/only-by.ts';

/**
 * The keys that sign delivery receipts (ECDSA over P-256). KMS does not rotate such keys automatically, so a rotation adds one.
 * The newest signs, and each older one endorses the next. The others stay, because receipts that they signed are still checked.
 */
export class ReceiptKeys extends Construct {
  /** The newest last. */
  readonly #keys: readonly Key[];

  /** @param props.count how many keys were made so far */
  constructor(scope: Construct, id: string, props: { readonly count: number; readonly stage: string | undefined }) {
    super(scope, id);
    const { count, stage } = props;
    this.#keys = Array.from({ length: count }, (_, index) => {
      const key = new Key(this, `Key${index + 1}`, {
        description: `Signs delivery receipts: key ${index + 1}`,
        keySpec: KeySpec.ECC_NIST_P256,
        keyUsage: KeyUsage.SIGN_VERIFY,
      });
      const signer = { stage, functionName: 'SettleDelivery' as const };
      key.addToResourcePolicy(onlyBy(this, { ...signer, actions: ['kms:Sign'], resources: ['*'] }));
      return key;
    });
  }

  /** Sign receipts with the newest key, and the statement of each older one that the next comes after it. */
  grantSign(grantee: ServiceFunction): void {
    this.#grant(grantee, ['kms:Sign', 'kms:GetPublicKey']);
  }

  /** Read the public parts of all keys. */
  grantPublish(grantee: ServiceFunction): void {
    this.#grant(grantee, ['kms:GetPublicKey']);
  }

  #grant(grantee: ServiceFunction, actions: string[]): void {
    const arns = this.#keys.map(({ keyArn }) => keyArn);
    grantee.allow({ actions, resources: arns });
    grantee.configure(environment.receiptKeyArns, arns.join(','));
  }
}
