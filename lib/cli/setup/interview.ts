import { ClientError } from '../../client/errors.ts';
import { UsageError } from '../../terminal/errors.ts';
import { type Output, printable } from '../../terminal/output.ts';
import type { Terminal } from '../../terminal/terminal.ts';

/** Why an answer cannot be used, or will probably not work. */
export type Doubt = ClientError | UsageError;

/** An answer that has the right form. `doubt`: why it will probably not work. */
export interface Checked<T> {
  readonly value: T;
  readonly doubt?: Doubt | undefined;
}

export interface Question<T> {
  /** Without the colon. */
  readonly text: string;
  /** The option that answers it, such as `--url`. */
  readonly option: string;
  /** The answer of the command line. */
  readonly given?: string | undefined;
  /** What Enter means. Without a person it is the answer. */
  readonly suggested?: string | undefined;
  /**
   * @param source names the answer in errors
   * @throws UsageError, ClientError for an answer that cannot be used; also for an empty one, if one is needed
   */
  readonly check: (answer: string, source: string) => Checked<T> | Promise<Checked<T>>;
}

/** Asks a person, or takes the answers from options. */
export class Interview {
  readonly terminal: Terminal;
  /** Whether there is a person to ask. */
  readonly isAsking: boolean;
  readonly #output: Output;

  constructor(terminal: Terminal, output: Output, isAsking: boolean) {
    this.terminal = terminal;
    this.isAsking = isAsking;
    this.#output = output;
  }

  /**
   * The first answer that can be used. A person is told what is wrong with an answer, and asked again. A doubtful answer
   * is taken when it is given twice.
   * @throws UsageError, ClientError for a wrong or doubtful answer of an option
   */
  async settle<T>({ text, option, given, suggested, check }: Question<T>): Promise<T> {
    const { askShown } = this.terminal;
    if (given !== undefined || !this.isAsking || askShown === undefined) {
      const { value, doubt } = await check(given ?? suggested ?? '', option);
      if (doubt) throw doubt;
      return value;
    }
    let shown = suggested;
    for (let doubted: string | undefined; ; ) {
      const typed = unquoted(
        (await askShown(`${text}${shown === undefined ? '' : ` [${printable(shown)}]`}: `)).trim(),
      );
      const answer = typed || shown || '';
      try {
        const { value, doubt } = await check(answer, text);
        if (doubt === undefined || answer === doubted) return value;
        this.tell(doubt, 'Press Enter to keep it all the same.');
        doubted = answer;
        shown = answer;
      } catch (error) {
        if (!isDoubt(error)) throw error;
        this.tell(error);
      }
    }
  }

  /** Erases the line of the last answer, if it is a secret. */
  hideTyped(): void {
    if (this.terminal.isTerminal) this.terminal.report('\u001b[A\u001b[2K\r');
  }

  /** Says what is wrong with an answer. */
  tell({ message, remedy }: Doubt, more?: string): void {
    const lines = [message, remedy, more].filter((line) => line !== undefined);
    this.#output.warn(lines.map(printable).join('\n'));
  }
}

/** Whether the user can correct the error by another answer. */
export function isDoubt(error: unknown): error is Doubt {
  return error instanceof UsageError || (error instanceof ClientError && error.code !== 'interrupted');
}

/** Terminals put the name of a file that is dropped on them into quotes. */
function unquoted(answer: string): string {
  return /^(['"])(.+)\1$/.exec(answer)?.[2] ?? answer;
}
