import { createLogUpdate } from 'log-update';
import stringWidth from 'string-width';
import { formatBytes, formatDuration } from './output.ts';
import type { Terminal } from './terminal.ts';

/** Milliseconds between two updates. In a log each update is a line, so they are rare there. */
const terminalPeriod = 100;
const logPeriod = 10_000;
/** Shorter work shows no bar. */
const quietMilliseconds = 500;
/** The first seconds do not predict the time that is left. */
const settledMilliseconds = 2_000;
/** Cells of the longest bar. */
const longestBar = 30;
const defaultSize = { columns: 80, rows: 24 };

/** One piece of work that is measured in bytes. */
export interface ProgressTask {
  /** Sets the size, which may be known late or change. */
  setTotal(bytes: number): void;
  /** Sets the bytes done since the beginning. */
  set(bytes: number): void;
  /** Adds bytes done since the last call. Negative: bytes that have to be done again. */
  add(bytes: number): void;
  /** Ends the work, done or failed. Its line goes away; its bytes stay in the sum. */
  end(): void;
}

/** Progress of several pieces of work at once: bars on a terminal, elsewhere one plain line every ten seconds. */
export interface Progress {
  /**
   * @param label printable
   * @param done bytes that an earlier run has done
   */
  task(label: string, total: number | undefined, done?: number): ProgressTask;
  /** Sets the bytes and the number of tasks of the whole run, if they are known at its start. */
  expect(bytes: number, tasks: number): void;
  /** Runs `write`, which writes to the terminal, while no progress is shown there. */
  around(write: () => void): void;
  /** Removes all progress from the terminal. */
  end(): void;
}

interface TaskState {
  readonly label: string;
  total: number | undefined;
  done: number;
}

export const noProgress: Progress = {
  task: () => ({ setTotal: () => {}, set: () => {}, add: () => {}, end: () => {} }),
  expect: () => {},
  around: (write) => write(),
  end: () => {},
};

/** Progress on standard error. Work that ends before the first update shows nothing. */
export function createProgress(terminal: Terminal): Progress {
  const running = new Set<TaskState>();
  const finished = { tasks: 0, bytes: 0, total: 0 };
  let expected: { bytes: number; tasks: number } | undefined;
  let begun: number | undefined;
  /** Bytes of earlier runs, which do not count as speed. */
  let before = 0;
  let shown = 0;
  let drawn = false;
  const display = createLogUpdate(streamOf(terminal), { showCursor: true });

  const erase = () => {
    if (drawn) display.clear();
    drawn = false;
  };
  const draw = (now: number) => {
    shown = now;
    const tasks = [...running];
    if (terminal.isTerminal && tasks.length === 0) {
      erase();
      return;
    }
    const done = finished.bytes + sumOf(tasks, (task) => task.done);
    const total = expected?.bytes ?? totalOf(tasks, finished.total);
    const elapsed = now - (begun ?? now);
    const count = expected?.tasks ?? finished.tasks + tasks.length;
    const files = count > 1 ? `${finished.tasks} of ${count} files, ` : '';
    const text = describe(done, total, { elapsed, since: before });
    if (!terminal.isTerminal) {
      const only = count === 1 ? tasks[0] : undefined;
      terminal.report(`${only ? `${only.label}: ` : ''}${files}${text}\n`);
      return;
    }
    const { columns, rows } = terminal.size() ?? defaultSize;
    const lines = tasks.slice(0, Math.max(1, rows - 3)).map((task) => barLine(task, columns));
    display([...lines, cut(files + text, columns - 1)].join('\n'));
    drawn = true;
  };
  const changed = () => {
    const now = terminal.now().getTime();
    if (now - shown >= (terminal.isTerminal ? terminalPeriod : logPeriod)) draw(now);
  };

  return {
    task(label, total, done = 0) {
      begun ??= terminal.now().getTime();
      if (shown === 0) shown = begun + (terminal.isTerminal ? quietMilliseconds - terminalPeriod : 0);
      const state: TaskState = { label, total, done };
      before += done;
      running.add(state);
      const move = (to: number) => {
        state.done = to;
        changed();
      };
      return {
        setTotal(bytes) {
          state.total = bytes;
        },
        set: move,
        add: (bytes) => move(state.done + bytes),
        end() {
          if (!running.delete(state)) return;
          finished.tasks += 1;
          finished.bytes += state.done;
          finished.total += state.total ?? state.done;
          changed();
        },
      };
    },
    expect(bytes, tasks) {
      expected = { bytes, tasks };
    },
    around(write) {
      const redraw = drawn;
      erase();
      write();
      if (redraw) draw(terminal.now().getTime());
    },
    end: erase,
  };
}

/** One piece of work as one line of the terminal: label, bar, share. */
function barLine({ label, total, done }: TaskState, columns: number): string {
  const share = total ? Math.min(1, done / total) : undefined;
  const state = share === undefined ? formatBytes(done) : `${Math.floor(share * 100)} %`.padStart(5);
  const room = columns - 1 - stringWidth(state) - 2;
  const bar = Math.min(longestBar, Math.floor(room / 2) - 3);
  if (share === undefined || bar < 5) return `${cut(label, room)}  ${state}`;
  const full = Math.round(share * bar);
  const name = cut(label, room - bar - 4);
  const padding = ' '.repeat(Math.max(0, Math.min(40, room - bar - 4) - stringWidth(name)));
  return `${name}${padding}  [${'='.repeat(full)}${' '.repeat(bar - full)}]${state}`;
}

/** The text in at most `width` cells. The middle is left out, because names differ at both ends. */
function cut(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  const characters = Array.from(text);
  while (characters.length > 1 && stringWidth(characters.join('')) > width - 1) {
    characters.splice(Math.floor(characters.length / 2), 1);
  }
  const half = Math.ceil(characters.length / 2);
  return `${characters.slice(0, half).join('')}…${characters.slice(half).join('')}`;
}

function describe(done: number, total: number | undefined, speed: { elapsed: number; since: number }): string {
  const rate = speed.elapsed > 0 ? ((done - speed.since) / speed.elapsed) * 1000 : 0;
  const pace = rate > 0 ? `, ${formatBytes(Math.round(rate))}/s` : '';
  if (!total) return `${formatBytes(done)}${pace}`;
  const left =
    rate > 0 && speed.elapsed >= settledMilliseconds
      ? `, ${formatDuration((Math.max(total - done, 0) / rate) * 1000)} left`
      : '';
  return `${formatBytes(done)} of ${formatBytes(total)} (${Math.floor((done / total) * 100)} %)${pace}${left}`;
}

function totalOf(tasks: readonly TaskState[], finished: number): number | undefined {
  return tasks.some(({ total }) => total === undefined)
    ? undefined
    : finished + sumOf(tasks, ({ total }) => total ?? 0);
}

function sumOf(tasks: readonly TaskState[], value: (task: TaskState) => number): number {
  return tasks.reduce((sum, task) => sum + value(task), 0);
}

/** Standard error in the form that the drawing library takes. */
function streamOf(terminal: Terminal): NodeJS.WritableStream {
  const stream = {
    isTTY: terminal.isTerminal,
    write: (text: string) => {
      terminal.report(text);
      return true;
    },
    get columns() {
      return terminal.size()?.columns;
    },
    get rows() {
      return terminal.size()?.rows;
    },
  };
  return stream as unknown as NodeJS.WritableStream;
}
