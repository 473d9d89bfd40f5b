import { countLine, sumLine, taskLines } from './progress-lines.ts';
import { Speed } from './speed.ts';
import type { Terminal } from './terminal.ts';

/** Milliseconds between two updates. Rarer in a log, where each update is a line. */
const terminalPeriod = 100;
const logPeriod = 10_000;
/** Milliseconds between two checks whether an update is due, even without new bytes. */
const heartbeat = 1_000;
/** Shorter work shows no bar. */
const quietMilliseconds = 500;
const defaultSize = { columns: 80, rows: 24 };

/** A task that is measured in bytes. */
export interface ProgressTask extends Disposable {
  /** Sets the size, which may be known late or change. */
  setTotal(bytes: number): void;
  /** Sets the bytes done since the beginning. */
  set(bytes: number): void;
  /** Adds bytes done since the last call. Negative: bytes that have to be done again. */
  add(bytes: number): void;
  /** Ends the task, done or failed, as its disposal does. Its line disappears; its bytes stay in the sum. */
  end(): void;
}

/** Work that is counted in pieces. */
export type Counter = Pick<ProgressTask, 'add' | 'end'>;

/** Progress of several tasks at once: bars on a terminal, elsewhere one plain line every ten seconds. */
export interface Progress {
  /**
   * @param label printable
   * @param done bytes of an earlier run
   */
  task(label: string, total: number | undefined, done?: number): ProgressTask;
  /** Counts pieces of work that have no bars, as `label 312/1001 (45/s)`. @param label printable */
  counter(label: string, total: number): Counter;
  /** Sets the bytes and the number of tasks of the whole run, if they are known at its start. */
  expect(bytes: number, tasks: number): void;
  /** Runs `write`, which writes to the terminal, while progress is hidden. */
  around(write: () => void): void;
  /** Removes all progress from the terminal. */
  end(): void;
}

interface TaskState {
  readonly label: string;
  readonly speed: Speed;
  total: number | undefined;
  done: number;
}

const ignore = () => {};
const unseen: ProgressTask = { setTotal: ignore, set: ignore, add: ignore, end: ignore, [Symbol.dispose]: ignore };

export const noProgress: Progress = {
  task: () => unseen,
  counter: () => unseen,
  expect: ignore,
  around: (write) => write(),
  end: ignore,
};

/** Progress on standard error. A task that ends before the first update is not shown. */
export function createProgress(terminal: Terminal): Progress {
  const running = new Set<TaskState>();
  const counters = new Set<TaskState>();
  const finished = { tasks: 0, bytes: 0, total: 0 };
  let expected: { bytes: number; tasks: number } | undefined;
  /** Of all tasks together. */
  let speed: Speed | undefined;
  let shown = 0;
  const display = displayOn(terminal);
  // A dumb terminal cannot replace a line: it would print each one below the last.
  const isRedrawn = terminal.isTerminal && terminal.env.TERM !== 'dumb';

  const draw = (now: number) => {
    shown = now;
    const tasks = [...running];
    const counts = [...counters].map((counter) => countLine(counter, counter.speed.at(now)));
    // The count of many small files stays on the screen between two of them.
    const isBetween = tasks.length + counts.length === 0 && finished.tasks < (expected?.tasks ?? 0);
    if (isRedrawn && tasks.length + counts.length === 0 && !isBetween) {
      display.clear();
      return;
    }
    const done = tasks.reduce((sum, task) => sum + task.done, finished.bytes);
    const total = expected?.bytes ?? totalOf(tasks, finished.total);
    const count = expected?.tasks ?? finished.tasks + tasks.length;
    const files = count > 1 ? `${finished.tasks} of ${count} files` : '';
    const sum = (width?: number) => sumLine(files, { done, total, speed: speed?.at(now) }, width);
    if (!isRedrawn) {
      for (const line of counts) terminal.report(`${line}\n`);
      if (tasks.length === 0 && counts.length > 0) return;
      const only = count === 1 ? tasks[0] : undefined;
      terminal.report(`${only ? `${only.label}: ` : ''}${sum()}\n`);
      return;
    }
    const { columns, rows } = terminal.size() ?? defaultSize;
    const shownTasks = tasks.slice(0, Math.max(1, rows - 3)).map((task) => ({ ...task, speed: task.speed.at(now) }));
    const isSummed = count > 1 && (tasks.length > 0 || isBetween);
    const lines = [...taskLines(shownTasks, columns), ...counts, ...(isSummed ? [sum(columns - 1)] : [])];
    display.show(lines.slice(Math.max(0, lines.length - rows + 1)));
  };
  const changed = (now: number) => {
    if (now - shown >= (isRedrawn ? terminalPeriod : logPeriod)) draw(now);
  };

  let timer: NodeJS.Timeout | undefined;
  const stopTimer = () => {
    clearInterval(timer);
    timer = undefined;
  };

  const begin = (among: Set<TaskState>, label: string, total: number | undefined, done = 0): ProgressTask => {
    const begun = terminal.now().getTime();
    if (shown === 0) shown = begun + (isRedrawn ? quietMilliseconds - terminalPeriod : 0);
    const state: TaskState = { label, total, done, speed: new Speed(begun) };
    among.add(state);
    timer ??= setInterval(() => changed(terminal.now().getTime()), heartbeat).unref();
    const move = (to: number) => {
      const now = terminal.now().getTime();
      state.speed.add(to - state.done, now);
      if (among === running) speed?.add(to - state.done, now);
      state.done = to;
      changed(now);
    };
    const end = () => {
      if (!among.delete(state)) return;
      if (among === running) {
        finished.tasks += 1;
        finished.bytes += state.done;
        finished.total += state.total ?? state.done;
      }
      if (running.size + counters.size === 0) stopTimer();
      changed(terminal.now().getTime());
    };
    const setTotal = (bytes: number) => {
      state.total = bytes;
    };
    return { setTotal, set: move, add: (more) => move(state.done + more), end, [Symbol.dispose]: end };
  };

  return {
    task(label, total, done) {
      speed ??= new Speed(terminal.now().getTime());
      return begin(running, label, total, done);
    },
    counter: (label, total) => begin(counters, label, total),
    expect(bytes, tasks) {
      expected = { bytes, tasks };
    },
    around(write) {
      const redraw = display.clear();
      write();
      if (redraw) draw(terminal.now().getTime());
    },
    end() {
      stopTimer();
      display.clear();
    },
  };
}

function totalOf(tasks: readonly TaskState[], finished: number): number | undefined {
  return tasks.reduce<number | undefined>(
    (sum, { total }) => (sum === undefined || total === undefined ? undefined : sum + total),
    finished,
  );
}

/** Shows lines at the bottom of a terminal, replacing the previous ones. None may be wider than the terminal. */
function displayOn({ report }: Terminal) {
  let height = 0;
  /** Terminals that know these marks never show half a frame. */
  const frame = (text: string) => report(`\x1b[?2026h${height > 0 ? `\x1b[${height}A` : ''}${text}\x1b[J\x1b[?2026l`);
  return {
    show(lines: readonly string[]) {
      // The cursor is below the last line.
      frame(lines.map((line) => `${line}\x1b[K\n`).join(''));
      height = lines.length;
    },
    /** @returns whether lines were shown */
    clear() {
      const isShown = height > 0;
      if (isShown) frame('');
      height = 0;
      return isShown;
    },
  };
}
