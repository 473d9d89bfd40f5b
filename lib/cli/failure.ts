import { ClientError, type ClientErrorCode } from '../client/errors.ts';
import {
  Crypt4ghError,
  DamagedBodyError,
  MalformedHeaderError,
  NoMatchingKeyError,
  UnusableKeyError,
} from '../crypt4gh/index.ts';
import { InterruptedError } from '../terminal/interrupted.ts';
import { exitCodes } from './exit-codes.ts';

/** A failure as the client reports it: the exit code, a stable code, one line for people, and what to do. */
export interface Failure {
  readonly exitCode: number;
  readonly code: string;
  readonly message: string;
  readonly remedy?: string | undefined;
}

const exitCodeOf: Readonly<Record<ClientErrorCode, number>> = {
  usage: exitCodes.usage,
  unauthenticated: exitCodes.denied,
  forbidden: exitCodes.denied,
  not_found: exitCodes.notFound,
  partial: exitCodes.partial,
  local_disk: exitCodes.localDisk,
  unavailable: exitCodes.unavailable,
  damaged: exitCodes.damaged,
  interrupted: exitCodes.interrupted,
  protocol: exitCodes.unexpected,
};

/** What the file system can say, and what to do about it. */
const diskProblems: Readonly<Record<string, readonly [problem: string, remedy: string]>> = {
  ENOSPC: ['the disk is full', 'Make room, or choose a folder on another disk.'],
  EDQUOT: ['your disk quota is used up', 'Make room, or choose a folder on another disk.'],
  EFBIG: ['the file would be larger than this file system takes', 'Choose a folder on another disk.'],
  EROFS: ['the file system is read-only', 'Choose another folder.'],
  EACCES: ['permission denied', 'Choose another file or folder, or ask its owner.'],
  EPERM: ['the operation is not allowed', 'Choose another file or folder, or ask its owner.'],
  EISDIR: ['this is a folder', 'Give the name of a file.'],
  ENOTDIR: ['a part of the path is a file, not a folder', 'Choose another folder.'],
  EEXIST: ['it exists already', 'Choose another name.'],
  ENAMETOOLONG: ['the name is too long for this file system', 'Choose a shorter name.'],
  EMFILE: ['too many open files', 'Raise the limit with ulimit -n.'],
  EIO: ['the disk reports an error', 'Look at the disk; try another one.'],
};

/** The failure that `error` is. Errors of the file system are told by their codes. */
export function failureOf(error: unknown): Failure {
  if (error instanceof InterruptedError) {
    return { exitCode: exitCodes.interrupted, code: 'interrupted', message: 'interrupted' };
  }
  if (error instanceof ClientError) {
    const { code, message, remedy } = error;
    return { exitCode: exitCodeOf[code], code, message, remedy };
  }
  if (error instanceof Crypt4ghError) return crypt4ghFailure(error);
  if (isSystemError(error)) return diskFailure(error);
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const remedy = 'This is a defect of data-out: please report it with the command that you gave.';
  return { exitCode: exitCodes.unexpected, code: 'unexpected', message, remedy };
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
    'passphrase-required': 'Give the passphrase with --passphrase-file FILE or DATA_OUT_PASSPHRASE.',
  };
  return { exitCode: exitCodes.denied, code, message, remedy: remedies[code] };
}

interface SystemError extends Error {
  readonly code: string;
  readonly path?: string;
}

function isSystemError(error: unknown): error is SystemError {
  // What a thread reports has lost all but its code.
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return false;
  return 'syscall' in error || error.code in diskProblems;
}

function diskFailure(error: SystemError): Failure {
  const { code, path } = error;
  const named = path === undefined ? '' : `${path}: `;
  if (code === 'ENOENT') {
    return { exitCode: exitCodes.notFound, code: 'not_found', message: `${named}there is no such file or folder` };
  }
  const [problem, remedy] = diskProblems[code] ?? [error.message, undefined];
  return { exitCode: exitCodes.localDisk, code: 'local_disk', message: `${named}${problem}`, remedy };
}
