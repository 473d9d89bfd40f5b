import {
  Crypt4ghError,
  DamagedBodyError,
  MalformedHeaderError,
  NoMatchingKeyError,
  UnusableKeyError,
} from '../../crypt4gh/index.ts';
import { exitCodes } from '../../terminal/exit-codes.ts';
import { type Failure, problemOf } from '../../terminal/failure.ts';
import { ClientError, type ClientErrorCode } from '../api/errors.ts';
import { passphraseRemedy } from './key-files.ts';

const exitCodeOf: Readonly<Record<ClientErrorCode, number>> = {
  usage: exitCodes.usage,
  unauthenticated: exitCodes.denied,
  forbidden: exitCodes.denied,
  not_found: exitCodes.notFound,
  partial: exitCodes.partial,
  local_disk: exitCodes.localDisk,
  unavailable: exitCodes.unavailable,
  damaged: exitCodes.damaged,
  not_verified: exitCodes.notVerified,
  timeout: exitCodes.timeout,
  interrupted: exitCodes.interrupted,
  protocol: exitCodes.unexpected,
};

/** The failure of an error of the client or of the format; `undefined` for any other error. */
export function clientFailure(error: unknown): Failure | undefined {
  if (error instanceof ClientError) return { exitCode: exitCodeOf[error.code], ...problemOf(error) };
  return error instanceof Crypt4ghError ? crypt4ghFailure(error) : undefined;
}

function crypt4ghFailure(error: Crypt4ghError): Failure {
  const { code, message } = error;
  if (error instanceof MalformedHeaderError || error instanceof DamagedBodyError) {
    const remedy = code === 'bad-magic' ? undefined : 'Get the file again from where it came from.';
    return { exitCode: exitCodes.damaged, code, message, remedy };
  }
  if (error instanceof UnusableKeyError) return { exitCode: exitCodes.usage, code, message };
  const remedies: Partial<Record<typeof code, string>> = {
    'no-decryptable-packet':
      error instanceof NoMatchingKeyError && error.isOfOtherSender
        ? 'Ask the sender for the right public key. Leave out --sender only if it does not matter who wrote the file.'
        : 'Give the private key that belongs to the public key of the encryption with --key FILE; the option may be given ' +
          'several times, and data-out inspect says which of your keys opens the file.',
    'passphrase-required': passphraseRemedy,
  };
  return { exitCode: exitCodes.denied, code, message, remedy: remedies[code] };
}
