import { Key, KeySpec, KeyUsage } from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import { environment } from '../../contract/environment.ts';
import type { Grantee } from '../functions/service-function.ts';

/**
 * The keys that sign delivery receipts (ECDSA over P-256). KMS does not rotate such keys by itself, so a rotation adds one.
 * The newest signs. The others stay, because receipts that they signed are still checked.
 */
export class ReceiptKeys extends Construct {
  /** The newest last. */
  readonly #keys: readonly Key[];

  /** @param props.count how many keys were made so far */
  constructor(scope: Construct, id: string, props: { readonly count: number }) {
    super(scope, id);
    this.#keys = Array.from(
      { length: props.count },
      (_, index) =>
        new Key(this, `Key${index + 1}`, {
          description: `Signs delivery receipts: key ${index + 1}`,
          keySpec: KeySpec.ECC_NIST_P256,
          keyUsage: KeyUsage.SIGN_VERIFY,
        }),
    );
  }

  /** Sign with the newest key. A receipt names its key by the public part. */
  grantSign(grantee: Grantee): void {
    const newest = this.#keys.at(-1);
    if (!newest) throw new Error('there is no key for receipts');
    grantee.allow({ actions: ['kms:Sign', 'kms:GetPublicKey'], resources: [newest.keyArn] });
    grantee.configure(environment.receiptSigningKeyArn, newest.keyArn);
  }

  /** Read the public parts of all keys. */
  grantPublish(grantee: Grantee): void {
    const arns = this.#keys.map(({ keyArn }) => keyArn);
    grantee.allow({ actions: ['kms:GetPublicKey'], resources: arns });
    grantee.configure(environment.receiptKeyArns, arns.join(','));
  }
}
