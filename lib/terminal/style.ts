import { styleText } from 'node:util';
import type { Terminal } from './terminal.ts';

/** Styles by meaning. A colour is never the only sign of it. */
export interface Style {
  good(text: string): string;
  bad(text: string): string;
  doubtful(text: string): string;
  strong(text: string): string;
  faint(text: string): string;
}

type Format = 'green' | 'red' | 'yellow' | 'bold' | 'dim';

/**
 * Colours on a terminal, unless it is dumb or `NO_COLOR` is set and not empty (no-color.org).
 * @param isTerminal whether the stream that is written to is a terminal
 */
export function createStyle({ env }: Pick<Terminal, 'env'>, isTerminal: boolean): Style {
  const coloured = isTerminal && !env.NO_COLOR && env.TERM !== 'dumb';
  const as = (format: Format) => (text: string) =>
    coloured ? styleText(format, text, { validateStream: false }) : text;
  return { good: as('green'), bad: as('red'), doubtful: as('yellow'), strong: as('bold'), faint: as('dim') };
}
