import stringWidth from 'fast-string-width';
import { formatBytes } from './output.ts';

/** One or several tasks at one moment. */
export interface Moment {
  /** Bytes. */
  readonly done: number;
  /** Bytes; `undefined` if that is not known. */
  readonly total: number | undefined;
  /** Bytes per second; `undefined` if that was not measured. */
  readonly speed: number | undefined;
}

/** Cells. Wider lines have a bar and label the time left. */
const barColumns = 60;
/** Cells of the longest bar. */
const longestBar = 30;
/** Cells. Below this, a name also takes the room of the speed, then of the time. */
const shortestName = 8;

/** Cells of the numbers of tasks, which are aligned. */
const shareCells = '100 %'.length;
const speedCells = '1024.0 MiB/s'.length;
const timeCells = '99 min'.length;

/** One line per task: name, bar, share, speed, time left. None is wider than `columns` - 1. */
export function taskLines(tasks: readonly (Moment & { readonly label: string })[], columns: number): string[] {
  const isWide = columns >= barColumns;
  const gap = isWide ? '  ' : ' ';
  const parts = tasks.map((task) => {
    const { label, total, done } = task;
    const share = shareOf(task);
    const left = timeLeft(task);
    const facts = [
      (share === undefined ? formatBytes(done) : `${share} %`).padStart(shareCells),
      speedText(task).padStart(speedCells),
      left === '' || !isWide ? left.padStart(timeCells) : `${left.padStart(timeCells)} left`,
    ];
    const bar = isWide && share !== undefined ? `  ${barOf(done / (total || 1), columns)}` : '';
    const room = () => columns - 1 - bar.length - stringWidth(gap + facts.join(gap));
    while (facts.length > 1 && room() < shortestName) facts.splice(1, 1);
    return { label, room: room(), end: `${bar}${gap}${facts.join(gap)}` };
  });
  const widest = Math.max(...tasks.map(({ label }) => stringWidth(label)));
  const names = parts.map(({ label, room }) => shortened(label, room));
  return parts.map(({ label, room, end }, index) => {
    const isAlike = names.indexOf(names[index] ?? '') !== names.lastIndexOf(names[index] ?? '');
    const others = tasks.filter((_, at) => at !== index).map((task) => task.label);
    const name = isAlike ? shortened(distinctPart(label, others), room) : (names[index] ?? '');
    const padding = ' '.repeat(Math.max(0, Math.min(room, widest) - stringWidth(name)));
    return shortened(`${name}${padding}${end}`.trimEnd(), columns - 1);
  });
}

/** A name without the beginning and the end that it shares with others. */
function distinctPart(name: string, others: readonly string[]): string {
  const letters = [...name];
  const shared = (from: readonly string[], of: (other: string) => readonly string[]) =>
    Math.max(
      ...others.map((other) => {
        const at = from.findIndex((letter, index) => letter !== of(other)[index]);
        return at < 0 ? 0 : at;
      }),
    );
  const start = shared(letters, (other) => [...other]);
  const end = shared(letters.toReversed(), (other) => [...other].toReversed());
  return `…${letters.slice(start, Math.max(start + 1, letters.length - end)).join('')}…`;
}

/**
 * Several tasks together: files, bytes, share, speed, time left. What does not fit is omitted.
 * @param width cells; `undefined`: no limit
 */
export function sumLine(files: string, moment: Moment, width: number | undefined): string {
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
    [brief],
  ].map((facts) => facts.filter((fact) => fact !== '').join(', '));
  return lines.find((line) => width === undefined || stringWidth(line) <= width) ?? shortened(brief, width ?? 0);
}

/** `label 312/1001 (45/s)`. */
export function countLine(
  { label, done, total }: Omit<Moment, 'speed'> & { readonly label: string },
  speed: number | undefined,
): string {
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

/** In one unit, because it is an estimate: `45 s`, `12 min`, `2.2 h`, `3.1 d`. Empty if there is none. */
function timeLeft({ done, total, speed }: Moment): string {
  if (total === undefined || !speed || done >= total) return '';
  const seconds = (total - done) / speed;
  if (Math.round(seconds) < 100) return `${Math.round(seconds)} s`;
  if (Math.round(seconds / 60) < 100) return `${Math.round(seconds / 60)} min`;
  const [amount, unit] = seconds < 3600 * 99.9 ? [seconds / 3600, 'h'] : [seconds / 86_400, 'd'];
  return amount < 99.9 ? `${amount.toFixed(1)} ${unit}` : '> 99 d';
}

/** The text in at most `width` cells, without its middle if it is longer: names differ at both ends. */
function shortened(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  // Made on first use: it takes as long as the rest of the program takes to start.
  const characters = new Intl.Segmenter();
  const rest = Array.from(characters.segment(text), ({ segment }) => segment);
  let [head, tail] = ['', ''];
  for (let room = width - 1; room >= 0; ) {
    const isHead = stringWidth(head) <= stringWidth(tail);
    const next = (isHead ? rest.shift() : rest.pop()) ?? '';
    room -= stringWidth(next);
    if (room < 0) return `${head}…${tail}`;
    if (isHead) head += next;
    else tail = next + tail;
  }
  return '';
}
