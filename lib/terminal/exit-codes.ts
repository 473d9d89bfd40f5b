/** Exit codes of `data-out` and `data-out-ops`, by what the caller can do next, and what `--help` says of them. */
const table = {
  ok: [0, 'done'],
  /** A defect, or anything without another code. */
  unexpected: [1, 'unexpected'],
  /** Correct the command line, the environment, the configuration file or a key file. */
  usage: [2, 'wrong usage or settings'],
  /** Give other credentials, another visa, key or passphrase. */
  denied: [3, 'not allowed, or wrong key'],
  notFound: [4, 'not found'],
  /** Part of the work is done; the same command does the rest. */
  partial: [5, 'partly done, run it again'],
  /** Make room, or choose another folder or name. */
  localDisk: [6, 'local disk'],
  /** The network or the service failed; the same command might work later. */
  unavailable: [7, 'network or service unavailable'],
  /** The data were damaged or changed after encryption. */
  damaged: [8, 'damaged data'],
  /** What exists already forbids this; a person must decide. */
  conflict: [9, 'conflict: a person must decide'],
  /** A file or the delivery differs from the signed delivery receipt, or could not be compared with one. */
  notVerified: [10, 'not verified by a receipt'],
  /** What was waited for did not happen in time; the same command resumes the wait. */
  timeout: [11, 'waited too long'],
  interrupted: [130, 'interrupted'],
} as const;

type Codes = { readonly [Name in keyof typeof table]: (typeof table)[Name][0] };
export const exitCodes = Object.fromEntries(Object.entries(table).map(([name, [code]]) => [name, code])) as Codes;

/** Each code with its meaning. */
export const exitCodeLines = Object.values(table).map(([code, meaning]) => `${code} ${meaning}`);

const half = exitCodeLines.length >> 1;
const beside = exitCodeLines.slice(half).map((line, index) => {
  return `  ${(index < half ? exitCodeLines[index] : '')?.padEnd(32)}${line}`;
});
/** The codes as `--help` shows them. */
export const exitCodesHelp = ['Exit codes:', ...beside].join('\n');
