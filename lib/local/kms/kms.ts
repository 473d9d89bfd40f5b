import type { LocalAccount } from '../account/account.ts';
import {
  type BufferedService,
  type JsonObject,
  jsonReply,
  parseJson,
  targetAction,
} from '../endpoint/buffered-service.ts';
import { AwsError } from '../endpoint/errors.ts';
import type { SigningKeys } from './signing-keys.ts';

const algorithm = 'ECDSA_SHA_256';

/**
 * KMS, as far as this service and its tools call it: it signs digests, gives public keys, and lists keys and aliases on one page.
 * Keys are named by their ARNs.
 */
export function kms(keys: SigningKeys, account: Pick<LocalAccount, 'keys'>): BufferedService {
  return {
    parse(_path, headers, body) {
      const action = targetAction(headers, 'TrentService');
      if (action === 'ListKeys' || action === 'ListAliases') {
        return { action, input: parseJson(body), permissions: [{ action: `kms:${action}`, resource: '*' }] };
      }
      if (action !== 'Sign' && action !== 'GetPublicKey') {
        throw new AwsError(400, 'UnknownOperationException', `${action} is not known to the local KMS`);
      }
      const input = parseJson(body);
      return { action, input, permissions: [{ action: `kms:${action}`, resource: String(input.KeyId) }] };
    },
    async handle(action, input) {
      const replies: Readonly<Record<string, () => JsonObject>> = {
        Sign: () => sign(keys, input),
        GetPublicKey: () => describe(keys, String(input.KeyId)),
        ListKeys: () => ({ Keys: [...account.keys.keys()].map((KeyId) => ({ KeyId })), Truncated: false }),
        ListAliases: () => ({ Aliases: aliases(account), Truncated: false }),
      };
      return jsonReply(replies[action]?.());
    },
  };
}

function sign(keys: SigningKeys, input: JsonObject): JsonObject {
  const { KeyId: arn, Message: message, MessageType: type, SigningAlgorithm: wanted } = input;
  const digest = Buffer.from(String(message), 'base64');
  if (wanted !== algorithm || type !== 'DIGEST') {
    throw new AwsError(400, 'ValidationException', `the local KMS signs a DIGEST by ${algorithm} only`);
  }
  if (digest.length !== 32) {
    throw new AwsError(400, 'ValidationException', `Digest is invalid length for algorithm ${algorithm}.`);
  }
  const signature = keys.sign(String(arn), digest);
  return { KeyId: arn, Signature: Buffer.from(signature).toString('base64'), SigningAlgorithm: algorithm };
}

function describe(keys: SigningKeys, arn: string): JsonObject {
  return {
    KeyId: arn,
    PublicKey: Buffer.from(keys.publicKey(arn)).toString('base64'),
    KeySpec: 'ECC_NIST_P256',
    KeyUsage: 'SIGN_VERIFY',
    SigningAlgorithms: [algorithm],
  };
}

/** Those of AWS alone: the engine ignores aliases of a template. One of them has no key yet, as in each account. */
function aliases({ keys }: Pick<LocalAccount, 'keys'>): readonly JsonObject[] {
  const bound = [...keys].flatMap(([id, alias]) =>
    alias === undefined ? [] : [{ AliasName: alias, TargetKeyId: id }],
  );
  return [...bound, { AliasName: 'alias/aws/dynamodb' }];
}
