import stringWidth from 'fast-string-width';
import { formatBytes } from './output.ts';
import type { Terminal } from './terminal.ts';

/** Milliseconds between two updates. Rarer in a log, where each update is a line. */
const terminalPeriod = 100;
const logPeriod = 10_000;
/** Milliseconds between two checks whether an update is due, even without new bytes. */
const heartbeat = 1_000;
/** Shorter work shows no bar. */
const quietMilliseconds = 500;
const defaultSize = { columns: 80, rows: 24 };
/** Cells. Wider lines have a bar and label the time left. */
const barColumns = 60;
const longestBar = 30;
/** Cells. Below this, a name also takes the room of the speed, then of the time. */
const shortestName = 8;
/** Cells of the numbers of tasks, which are aligned. */
const [shareCells, speedCells, timeCells] = ['100 %'.length, '1024.0 MiB/s'.length, '99 min'.length];

/** A task that is measured in bytes. */
export interface ProgressTask extends Disposable {
  /** Sets the bytes done since the beginning, and the size if it is another one than before. */
  set(bytes: number, total?: number): void;
  /** Adds bytes done since the last call. Negative: bytes that have to be done again. */
  add(bytes: number): void;
  /** Ends the task, done or failed, as its disposal does. Its line disappears; its bytes stay in the sum. */
  end(): void;
}

/** Progress of several tasks at once: bars on a terminal, elsewhere one plain line every ten seconds. */
export interface Progress {
  /** @param label printable @param done bytes of an earlier run */
  task(label: string, total: number | undefined, done?: number): ProgressTask;
  /** Counts pieces of work that have no bars, as `label 312/1001 (45/s)`. @param label printable */
  counter(label: string, total: number): Pick<ProgressTask, 'add' | 'end'>;
  /** Sets the bytes and the number of tasks of the whole run, if they are known at its start. */
  expect(bytes: number, tasks: number): void;
  /** Runs `write`, which writes to the terminal, while progress is hidden. */
  around(write: () => void): void;
  /** Removes all progress from the terminal. */
  end(): void;
}

/** One or several tasks at one moment, in bytes. */
interface Moment {
  readonly done: number;
  /** `undefined` if it is not known. */
  readonly total: number | undefined;
  /** Per second; `undefined` if it was not measured for long enough. */
  readonly speed: number | undefined;
}

interface Work {
  readonly label: string;
  readonly speed: Speed;
  total: number | undefined;
  done: number;
}

const ignore = () => {};
const unseen: ProgressTask = { set: ignore, add: ignore, end: ignore, [Symbol.dispose]: ignore };

export const noProgress: Progress = {
  task: () => unseen,
  counter: () => unseen,
  expect: ignore,
  around: (write) => write(),
  end: ignore,
};

/** Progress on standard error. A task that ends before the first update is not shown. */
export function createProgress(terminal: Terminal): Progress {
  const running = new Set<Work>();
  const counters = new Set<Work>();
  const finished = { tasks: 0, bytes: 0, total: 0 };
  let expected: { bytes: number; tasks: number } | undefined;
  /** The speed of all tasks together. */
  let speed: Speed | undefined;
  let shown = 0;
  /** Lines on the terminal; the cursor is below the last one. */
  let height = 0;
  let timer: NodeJS.Timeout | undefined;
  // A dumb terminal cannot replace a line: it would print each one below the last.
  const isRedrawn = terminal.isTerminal && terminal.env.TERM !== 'dumb';
  const nowMs = () => terminal.now().getTime();

  /** Replaces the lines, from the first column, since a terminal shows `^C` there. Terminals that know the outer marks never show half a frame. */
  const display = (lines: readonly string[]) => {
    if (height === 0 && lines.length === 0) return;
    const text = lines.map((line) => `${line}\x1b[K\n`).join('');
    terminal.report(`\x1b[?2026h\r${height > 0 ? `\x1b[${height}A` : ''}${text}\x1b[J\x1b[?2026l`);
    height = lines.length;
  };
  const draw = (now: number) => {
    shown = now;
    const [tasks = [], counts = []] = [running, counters].map((among) => {
      return [...among].map((work) => ({ ...work, speed: work.speed.at(now) }));
    });
    const done = tasks.reduce((sum, task) => sum + task.done, finished.bytes);
    const totals = tasks.map(({ total }) => total);
    const sized = totals.includes(undefined)
      ? undefined
      : totals.reduce((sum = 0, total = 0) => sum + total, finished.total);
    const count = expected?.tasks ?? finished.tasks + tasks.length;
    const files = count > 1 ? `${finished.tasks} of ${count} files` : '';
    const all = { done, total: expected?.bytes ?? sized, speed: speed?.at(now) };
    if (!isRedrawn) {
      const label = count === 1 && tasks[0] ? `${tasks[0].label}: ` : '';
      const sums = tasks.length === 0 && counts.length > 0 ? [] : [`${label}${sumLine(files, all)}`];
      for (const line of [...counts.map(countLine), ...sums]) terminal.report(`${line}\n`);
      return;
    }
    const { columns, rows } = terminal.size() ?? defaultSize;
    // The count of many small files stays on the screen between two of them.
    const isBetween = tasks.length + counts.length === 0 && finished.tasks < (expected?.tasks ?? 0);
    const isSummed = count > 1 && (tasks.length > 0 || isBetween);
    const shownTasks = taskLines(tasks.slice(0, Math.max(1, rows - 3)), columns);
    const lines = [...shownTasks, ...counts.map(countLine), ...(isSummed ? [sumLine(files, all, columns - 1)] : [])];
    display(lines.slice(Math.max(0, lines.length - rows + 1)));
  };
  const changed = (now: number) => {
    if (now - shown >= (isRedrawn ? terminalPeriod : logPeriod)) draw(now);
  };

  const begin = (among: Set<Work>, label: string, total: number | undefined, done = 0): ProgressTask => {
    const begun = nowMs();
    if (shown === 0) shown = begun + (isRedrawn ? quietMilliseconds - terminalPeriod : 0);
    if (among === running) speed ??= new Speed(begun);
    const work: Work = { label, total, done, speed: new Speed(begun) };
    among.add(work);
    timer ??= setInterval(() => changed(nowMs()), heartbeat).unref();
    const set = (to: number, size = work.total) => {
      const now = nowMs();
      if (among === running) speed?.add(to - work.done, now);
      work.speed.add(to - work.done, now);
      [work.done, work.total] = [to, size];
      changed(now);
    };
    const end = () => {
      if (!among.delete(work)) return;
      if (among === running) {
        finished.tasks += 1;
        finished.bytes += work.done;
        finished.total += work.total ?? work.done;
      }
      if (running.size + counters.size === 0) timer = void clearInterval(timer);
      changed(nowMs());
    };
    return { set, add: (more) => set(work.done + more), end, [Symbol.dispose]: end };
  };

  return {
    task: (label, total, done) => begin(running, label, total, done),
    counter: (label, total) => begin(counters, label, total),
    expect(bytes, tasks) {
      expected = { bytes, tasks };
    },
    around(write) {
      const isShown = height > 0;
      display([]);
      write();
      if (isShown) draw(nowMs());
    },
    end() {
      clearInterval(timer);
      display([]);
    },
  };
}

/** Milliseconds. Older bytes are ignored. */
const windowMs = 15_000;
/** Milliseconds. A shorter measurement is useless. */
const settledMs = 2_000;
/** Milliseconds between two marks. */
const markMs = 250;

/** The speed of some work in its last seconds. Times are in milliseconds. */
class Speed {
  #bytes = 0;
  /** Marks since the beginning of the window, and the last one before it. */
  readonly #marks: { readonly at: number; readonly bytes: number }[];

  constructor(now: number) {
    this.#marks = [{ at: now, bytes: 0 }];
  }

  /** @param bytes done now; negative ones, which have to be done again, are ignored */
  add(bytes: number, now: number): void {
    this.#bytes += Math.max(0, bytes);
    if (now - (this.#marks.at(-1)?.at ?? 0) >= markMs) this.#marks.push({ at: now, bytes: this.#bytes });
    while ((this.#marks[1]?.at ?? now) <= now - windowMs) this.#marks.shift();
  }

  /** Bytes per second; `undefined` if it was not measured for long enough. */
  at(now: number): number | undefined {
    this.add(0, now);
    const [{ at, bytes } = { at: now, bytes: 0 }] = this.#marks;
    return now - at < settledMs ? undefined : ((this.#bytes - bytes) / (now - at)) * 1000;
  }
}

/** One line per task: name, bar, share, speed, time left. None is wider than `columns` - 1. */
function taskLines(tasks: readonly (Moment & { readonly label: string })[], columns: number): string[] {
  const isWide = columns >= barColumns;
  const gap = isWide ? '  ' : ' ';
  const labels = tasks.map(({ label }) => label);
  const widest = Math.max(...labels.map((label) => stringWidth(label)));
  return tasks.map((task) => {
    const { label, total, done } = task;
    const share = shareOf(task);
    const left = timeLeft(task).padStart(timeCells);
    const facts = [
      (share === undefined ? formatBytes(done) : `${share} %`).padStart(shareCells),
      speedText(task).padStart(speedCells),
      left.trim() === '' || !isWide ? left : `${left} left`,
    ];
    const bar = isWide && share !== undefined ? `  ${barOf(done / (total || 1), columns)}` : '';
    const roomFor = () => columns - 1 - bar.length - stringWidth(gap + facts.join(gap));
    while (facts.length > 1 && roomFor() < shortestName) facts.splice(1, 1);
    const room = roomFor();
    const name = stringWidth(label) <= room ? label : shortened(distinctPart(label, labels), room);
    const padding = ' '.repeat(Math.max(0, Math.min(room, widest) - stringWidth(name)));
    return shortened(`${name}${padding}${bar}${gap}${facts.join(gap)}`.trimEnd(), columns - 1);
  });
}

/** A name without the beginning and the end that it shares with others: cut in the middle, such names would look alike. */
function distinctPart(name: string, all: readonly string[]): string {
  const others = all.filter((each) => each !== name);
  const shared = (of: (text: string) => readonly string[]) =>
    Math.max(0, ...others.map((other) => of(name).findIndex((letter, index) => letter !== of(other)[index])));
  const start = shared((text) => [...text]);
  const end = shared((text) => [...text].toReversed());
  if (start + end === 0) return name;
  const letters = [...name];
  return `…${letters.slice(start, Math.max(start + 1, letters.length - end)).join('')}…`;
}

/** Several tasks together: files, bytes, share, speed, time left. What does not fit in `width` cells is omitted. */
function sumLine(files: string, moment: Moment, width = Number.POSITIVE_INFINITY): string {
  const { done, total } = moment;
  const share = shareOf(moment);
  const speed = speedText(moment);
  const time = timeLeft(moment);
  const left = time && `${time} left`;
  const bytes =
    share === undefined ? formatBytes(done) : `${formatBytes(done)} of ${formatBytes(total ?? 0)} (${share} %)`;
  const brief = share === undefined ? bytes : `${share} %`;
  const lines = [
    [files, bytes, speed, left],
    [files, brief, speed, left],
    [brief, speed, left],
    [brief, left],
  ].map((facts) => facts.filter((fact) => fact !== '').join(', '));
  return lines.find((line) => stringWidth(line) <= width) ?? shortened(brief, width);
}

/** `label 312/1001 (45/s)`. */
function countLine({ label, done, total, speed }: Moment & { readonly label: string }): string {
  return `${label} ${done}/${total}${speed === undefined ? '' : ` (${speed.toFixed(speed < 10 ? 1 : 0)}/s)`}`;
}

/** In percent; `undefined` without a total. */
function shareOf({ done, total }: Moment): number | undefined {
  return total ? Math.min(100, Math.floor((done / total) * 100)) : undefined;
}

function barOf(share: number, columns: number): string {
  const cells = Math.min(longestBar, Math.floor(columns / 8));
  return `[${'='.repeat(Math.round(Math.min(1, share) * cells)).padEnd(cells)}]`;
}

function speedText({ speed }: Moment): string {
  return speed === undefined ? '' : `${formatBytes(Math.round(speed))}/s`;
}

const timeUnits = Object.entries({ s: 1, min: 60, h: 3600, d: 86_400 });

/** In one unit, because it is an estimate: `45 s`, `12 min`, `3 h`, `4 d`. Empty if there is none. */
function timeLeft({ done, total, speed }: Moment): string {
  if (total === undefined || !speed || done >= total) return '';
  const seconds = (total - done) / speed;
  const [unit, size] = timeUnits.find(([, each]) => seconds < 99.5 * each) ?? [];
  return size === undefined ? '' : `${Math.round(seconds / size)} ${unit}`;
}

/** The text in at most `width` cells, without its middle if it is longer: names differ at both ends. */
function shortened(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  // Made on first use: it takes as long as the rest of the program takes to start.
  const rest = Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment);
  while (rest.length > 0 && stringWidth(rest.join('')) >= width) rest.splice(rest.length >> 1, 1);
  return width > 0 ? rest.toSpliced((rest.length + 1) >> 1, 0, '…').join('') : '';
}
