import { type BufferedService, type JsonObject, parseJson, targetAction } from '../endpoint/buffered-service.ts';
import { AwsError } from '../endpoint/errors.ts';
import type { SigningKeys } from './signing-keys.ts';

const algorithm = 'ECDSA_SHA_256';

/** KMS, as far as this service calls it: it signs digests and gives public keys. Keys are named by their ARNs. */
export function kms(keys: SigningKeys): BufferedService {
  return {
    parse(_path, headers, body) {
      const action = targetAction(headers, 'TrentService');
      if (action !== 'Sign' && action !== 'GetPublicKey') {
        throw new AwsError(400, 'UnknownOperationException', `${action} is not known to the local KMS`);
      }
      const input = parseJson(body);
      return { action, input, permissions: [{ action: `kms:${action}`, resource: String(input.KeyId) }] };
    },
    async handle(action, input) {
      const reply = action === 'Sign' ? sign(keys, input) : describe(keys, String(input.KeyId));
      return {
        status: 200,
        headers: { 'content-type': 'application/x-amz-json-1.1' },
        body: JSON.stringify(reply),
      };
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
