import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { blocksOf } from './pages.ts';
import { screenOf } from './screen.ts';
import { until } from './service.ts';
import { programPath, shellWord, terminalProcess } from './terminal-process.ts';

/** A block of commands of a page, and what the page says that they print. */
export interface WalkStep {
  /** For the title of a test. */
  readonly title: string;
  /** `NAME` of `<!-- run by FILE: NAME -->`. */
  readonly name: string | undefined;
  readonly commands: string;
  /** The block of text that follows; empty without one. */
  readonly printed: string;
}

/** The blocks of a page that `runner` runs, in their order. @param text default: the page as it is on the disk */
export function stepsOf(page: string, runner: string, text?: string): readonly WalkStep[] {
  const blocks = blocksOf(page, text);
  return blocks.flatMap(({ comment = '', section, line, text: commands }, index) => {
    const [mark, name] = comment.split(': ');
    if (mark !== `run by ${runner}`) return [];
    const next = blocks[index + 1];
    const printed = next?.language === 'text' && next.section === section ? next.text : '';
    return [{ title: `${section}, line ${line}${name ? `: ${name}` : ''}`, name, commands, printed }];
  });
}

/**
 * What differs from run to run, by its shape. A page shows an example of it; what is printed must have the same shape in
 * the same place.
 */
export const shapes: Readonly<Record<string, RegExp>> = {
  token: /\beyJ[\w-]+\.[\w-]+\.[\w-]+/g,
  uuid: /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g,
  fingerprint: /\b[0-9a-f]{64}\b/g,
  'public key': /(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{43}=/g,
  thumbprint: /(?<![\w-])[\w-]{43}(?![\w-])/g,
  time: /\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)?/g,
  clock: /\b\d\d:\d\d UTC\b/g,
  'user code': /\b[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}\b/g,
  speed: /\b\d+(?:\.\d+)? (?:[KMGT]i?)?B\/s/g,
  duration: /\b(?:\d+ days|\d+ h \d\d min|\d+ min \d\d s|\d+(?:\.\d+)? ?m?s)\b/g,
  port: /(?<=\b(?:localhost|127\.0\.0\.1):)\d+\b/g,
};

/** A text with the names of the {@link shapes} in their place. Columns may be wider or narrower by them. */
export function shaped(text: string): string {
  const named = Object.entries(shapes).reduce((all, [name, shape]) => all.replaceAll(shape, `<${name}>`), text);
  return named
    .replaceAll(/ {2,}(?=<)|(?<=>) {2,}/g, '  ')
    .replaceAll(/ +$/gm, '')
    .trim();
}

/**
 * What was printed, in shapes, with `…` instead of the lines that a page leaves out by a line `…`. So a difference from
 * the page shows line by line.
 */
export function printedAs(page: string, printed: string): string {
  const rest = shaped(printed).split('\n');
  const lines: string[] = [];
  const expected = shaped(page).split('\n');
  for (const [index, line] of expected.entries()) {
    if (line !== '…') {
      lines.push(...rest.splice(0, 1));
      continue;
    }
    const next = expected[index + 1];
    const end = next === undefined ? rest.length : rest.indexOf(next);
    if (end >= 0) {
      rest.splice(0, end);
      lines.push('…');
    }
  }
  return [...lines, ...rest].join('\n');
}

/** How a person gets on with a block of commands. */
export interface WalkChoices {
  /** What is typed, and the end of the question that it answers. */
  readonly answers?: readonly (readonly [question: string, typed: string])[];
  /** Ctrl-C is typed when this text is on the screen, or when this promise is kept. */
  readonly interrupt?: string | (() => Promise<unknown>);
  /** The commands are left running when this is on the screen, and end with the walk. */
  readonly leaveAfter?: string;
  /** Whether the lines may come in another order, as those of files that come side by side. */
  readonly anyOrder?: boolean;
  /** A line for the shell before the commands, such as one with `ulimit`. It is not on the page. */
  readonly prelude?: string;
  /** Default 0; not looked at with `leaveAfter`. */
  readonly exitCode?: number;
  /** Beside the walk's own variables, for these commands alone. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface WalkSettings {
  /** Programs by name: the words that start each, such as `[process.execPath, 'bin/data-out.ts']`. */
  readonly programs: Readonly<Record<string, readonly string[]>>;
  /** Programs of this machine. There are no others. */
  readonly tools?: readonly string[];
  /** Texts of the page, and what stands for each in this run, such as an address. Also put back into what is printed. */
  readonly stands?: Readonly<Record<string, string>>;
  /** What this run prints, and what the page shows for it. */
  readonly shows?: Readonly<Record<string, string>>;
  /** The person's home on the page. Default `/home/jane`. */
  readonly home?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Width of the terminal, in characters. */
const walkColumns = 132;
/** How long one block of commands may take, in milliseconds. */
const patience = 110_000;
/** How long the next question may take. */
const shortPatience = 30_000;

/**
 * A person who follows a page: an empty home, no variables, no programs but those of the page, and a terminal of
 * {@link walkColumns}. Variables that a block exports, and the folder it goes to, stay for the next one.
 */
export class Walk {
  readonly #folder: string;
  readonly #settings: WalkSettings;
  readonly #stands: readonly (readonly [page: string, here: string])[];
  readonly #shows: readonly (readonly [here: string, page: string])[];
  readonly #running: ChildProcess[] = [];

  private constructor(folder: string, settings: WalkSettings) {
    this.#folder = folder;
    this.#settings = settings;
    const { stands = {}, shows = {}, home = '/home/jane' } = settings;
    this.#stands = [...Object.entries(stands), [home, this.path()]];
    this.#shows = [...this.#stands.map(([page, here]) => [here, page] as const), ...Object.entries(shows)];
  }

  /** Needs `script` of util-linux, which makes a terminal. */
  static async start(settings: WalkSettings): Promise<Walk> {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'data-out-walk-')));
    for (const name of ['home', 'bin']) await mkdir(join(folder, name));
    for (const [name, words] of Object.entries(settings.programs)) {
      await writeFile(join(folder, 'bin', name), `#!/bin/sh\nexec ${words.map(shellWord).join(' ')} "$@"\n`, {
        mode: 0o755,
      });
    }
    for (const tool of settings.tools ?? []) await symlink(programPath(tool), join(folder, 'bin', tool));
    return new Walk(folder, settings);
  }

  /** Ends what is left running, by Ctrl-C, and removes everything. */
  async remove(): Promise<void> {
    for (const child of this.#running) {
      child.stdin?.write('\x03');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
    }
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Of a file in the person's home. */
  path(...names: readonly string[]): string {
    return join(this.#folder, 'home', ...names);
  }

  file(...names: readonly string[]): Promise<Buffer> {
    return readFile(this.path(...names));
  }

  /** Runs a block of commands. @throws unless it prints what the page shows, and ends as it should */
  async follow({ commands, printed }: WalkStep, choices: WalkChoices = {}): Promise<void> {
    const { anyOrder, exitCode = choices.leaveAfter === undefined ? 0 : undefined } = choices;
    const run = await this.run(commands, choices);
    const compared = (text: string, code: number | null | undefined) => {
      const lines = text.split('\n');
      return [...(anyOrder ? lines.sort() : lines), ...(code === undefined ? [] : [`[exit code ${code}]`])].join('\n');
    };
    expect(compared(printedAs(printed, run.printed), run.exitCode)).toBe(compared(shaped(printed), exitCode));
  }

  /**
   * Runs commands as they stand on the page.
   *
   * @returns what the terminal shows at the end, with the page's own texts for what stood for them; no exit code for
   *   commands that are left running
   */
  async run(
    commands: string,
    { answers = [], interrupt, leaveAfter, env, prelude = '' }: WalkChoices = {},
  ): Promise<{ readonly printed: string; readonly exitCode: number | null | undefined }> {
    const state = join(this.#folder, 'state.sh');
    // A shell that is left running reads its script line by line.
    const script = join(this.#folder, `commands-${this.#running.length}.sh`);
    const before = `[ ! -f "${state}" ] || . "${state}"\n`;
    // Variables and limits for one block alone must not stay.
    const after = env || prelude ? '' : `trap '{ export -p; printf "cd %q\\n" "$PWD"; } >"${state}"' EXIT\n`;
    const exports = Object.entries(env ?? {}).map(([name, value]) => `export ${name}=${shellWord(value)}\n`);
    const inThisRun = (text: string) => this.#stands.reduce((all, [page, here]) => all.replaceAll(page, here), text);
    await writeFile(script, [before, after, ...exports, `${prelude}\n`, inThisRun(commands)].join(''));
    const child = terminalProcess([programPath('bash'), '--norc', '-euo', 'pipefail', script], {
      folder: this.path(),
      env: this.#env(),
      columns: walkColumns,
      showsControls: false,
    });
    this.#running.push(child);
    let written = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (piece: string) => {
        written += piece;
      });
    }
    const ended = once(child, 'close');
    const limit = setTimeout(() => child.kill('SIGKILL'), patience);
    const seen = async (what: string, isThere: (screen: string) => boolean) => {
      const look = () => (isThere(screenOf(written)) || child.exitCode !== null ? true : undefined);
      await until(look, what, shortPatience).catch((error: unknown) => {
        child.kill('SIGKILL');
        throw new Error(`not on the screen: ${what}. It shows:\n${screenOf(written)}`, { cause: error });
      });
    };
    let asked = 0;
    for (const [question, typed] of answers) {
      await seen(question, (screen) => {
        const lines = screen.split('\n');
        return lines.length > asked && lines.at(-1)?.includes(question) === true;
      });
      asked = screenOf(written).split('\n').length;
      child.stdin.write(`${inThisRun(typed)}\r`);
    }
    if (interrupt !== undefined) {
      const due = typeof interrupt === 'string' ? seen(interrupt, (screen) => screen.includes(interrupt)) : interrupt();
      await Promise.race([ended, due.then(() => child.stdin.write('\x03'))]);
    }
    if (leaveAfter === undefined) await ended;
    else await seen(leaveAfter, (screen) => screen.includes(leaveAfter));
    clearTimeout(limit);
    const printed = this.#shows.reduce((all, [here, page]) => all.replaceAll(here, page), screenOf(written));
    return { printed, exitCode: leaveAfter === undefined ? child.exitCode : undefined };
  }

  #env(): Record<string, string> {
    const { NODE_COMPILE_CACHE } = process.env;
    return {
      PATH: join(this.#folder, 'bin'),
      HOME: this.path(),
      LANG: 'C.UTF-8',
      NO_COLOR: '1',
      ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
      ...this.#settings.env,
    };
  }
}
