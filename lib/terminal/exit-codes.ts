/** Exit codes of `data-out` and `data-out-ops`: a script can tell what to do next. `docs/command-line.md` lists them. */
export const exitCodes = {
  ok: 0,
  /** A defect, or something that no other code names. */
  unexpected: 1,
  /** Correct the command line, the environment, the configuration file or a key file. */
  usage: 2,
  /** Give other credentials, another visa, key or passphrase. */
  denied: 3,
  notFound: 4,
  /** A part of the work is done; the same command again does the rest. */
  partial: 5,
  /** Make room, or choose another folder or name. */
  localDisk: 6,
  /** The network or the service failed; the same command may work later. */
  unavailable: 7,
  /** The data are not what their writer sealed. */
  damaged: 8,
  /** What is already there forbids this; a person must decide. */
  conflict: 9,
  /** A file, or the delivery, is not what the signed delivery receipt says, or could not be compared with one. */
  notVerified: 10,
  /** What was waited for did not happen in time; the same command goes on waiting. */
  timeout: 11,
  interrupted: 130,
} as const;

/** The codes as `--help` shows them. */
export const exitCodesHelp = `Exit codes:
  0 done                          6 local disk
  1 unexpected                    7 network or service unavailable
  2 wrong usage or settings       8 damaged data
  3 not allowed, or wrong key     9 something stands in the way
  4 not found                     10 not verified by a receipt
  5 partly done, run it again     11 waited too long
                                  130 interrupted`;
