/** Exit codes of the client: a script can tell what to do next. */
export const exitCodes = {
  ok: 0,
  /** A defect of the client, or something that no other code names. */
  unexpected: 1,
  /** Correct the command line, the environment, the configuration file or a key file. */
  usage: 2,
  /** Other credentials, another visa, key or passphrase. */
  denied: 3,
  notFound: 4,
  /** Some of what was asked for is done; the same command again does the rest. */
  partial: 5,
  /** Make room, or choose another folder or name. */
  localDisk: 6,
  /** The network or the service: the same command may work later. */
  unavailable: 7,
  /** The data are not what their writer sealed. */
  damaged: 8,
  interrupted: 130,
} as const;

/** The codes as `--help` shows them. */
export const exitCodesHelp = `Exit codes:
  0 done                          5 partly done, run it again
  1 unexpected                    6 local disk
  2 wrong usage or settings       7 network or service unavailable
  3 not allowed, or wrong key     8 damaged data
  4 not found                     130 interrupted`;
