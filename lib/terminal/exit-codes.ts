/** Exit codes of `data-out` and `data-out-ops`, by what the caller can do next. `docs/command-line.md` lists them. */
export const exitCodes = {
  ok: 0,
  /** A defect, or anything without another code. */
  unexpected: 1,
  /** Correct the command line, the environment, the configuration file or a key file. */
  usage: 2,
  /** Give other credentials, another visa, key or passphrase. */
  denied: 3,
  notFound: 4,
  /** Part of the work is done; the same command does the rest. */
  partial: 5,
  /** Make room, or choose another folder or name. */
  localDisk: 6,
  /** The network or the service failed; the same command might work later. */
  unavailable: 7,
  /** The data were damaged or changed after encryption. */
  damaged: 8,
  /** What exists already forbids this; a person must decide. */
  conflict: 9,
  /** A file or the delivery differs from the signed delivery receipt, or could not be compared with one. */
  notVerified: 10,
  /** What was waited for did not happen in time; the same command resumes the wait. */
  timeout: 11,
  interrupted: 130,
} as const;

/** The codes as `--help` shows them. */
export const exitCodesHelp = `Exit codes:
  0 done                          6 local disk
  1 unexpected                    7 network or service unavailable
  2 wrong usage or settings       8 damaged data
  3 not allowed, or wrong key     9 conflict: a person must decide
  4 not found                     10 not verified by a receipt
  5 partly done, run it again     11 waited too long
                                  130 interrupted`;
