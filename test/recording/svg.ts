import { join } from 'node:path';
import type { Shot } from './run.ts';

/** Where README.md has the picture from. */
export const picturePath = join(import.meta.dirname, '../../docs/pictures/terminal.svg');

/** Cells of a row, so that the text is readable on a page. Longer lines continue in the next row, as on a terminal. */
const columns = 106;
/** Pixels of a cell, and of the space around all. */
const cell = { width: 8.4, height: 19 };
const margin = 16;

/** Seconds: for a character that is typed, for a line that is printed, and before and after an answer. */
const pace = { character: 0.05, line: 0.3, pause: 0.8 };
const prompt = '$ ';

interface Row {
  readonly text: string;
  /** `command`, `printed`, or `wrapped` for the rest of a printed line. */
  readonly kind: 'command' | 'printed' | 'wrapped';
  /** Seconds after the start, and how long it takes to type. */
  readonly at: number;
  readonly takes: number;
}

/**
 * A run as a picture that plays once: commands are typed, lines appear. Without motion it shows the end, which has every
 * line. It has its own colours, for light pages and dark ones.
 */
export function recordingSvg(shots: readonly Shot[]): string {
  const rows = timed(shots);
  const width = Math.ceil(columns * cell.width + 2 * margin);
  const height = rows.length * cell.height + 2 * margin;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title">
<title id="title">A researcher's terminal: ${shots.map(({ command }) => escaped(command)).join(', ')}</title>
<style>
rect{fill:#0d1117;stroke:#57606a}
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d0d7de;white-space:pre}
.command{fill:#7ee787;font-weight:bold}
@media(prefers-reduced-motion:no-preference){.command{animation:type both}.printed,.wrapped{animation:show .05s both}}
@keyframes type{from{clip-path:inset(0 100% 0 0)}to{clip-path:inset(0)}}
@keyframes show{from{opacity:0}}
</style>
<rect x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8"/>
${rows.map(drawn).join('\n')}
</svg>
`;
}

/** What a picture of {@link recordingSvg} shows. */
export function shotsOf(svg: string): readonly Shot[] {
  const shots: { command: string; lines: string[] }[] = [];
  for (const [, kind, text = ''] of svg.matchAll(/^<text class="(\w+)"[^>]*>(.*)<\/text>$/gm)) {
    const lines = shots.at(-1)?.lines ?? [];
    if (kind === 'command') shots.push({ command: unescaped(text).slice(prompt.length), lines: [] });
    else if (kind === 'printed') lines.push(unescaped(text));
    else lines.push(`${lines.pop()}${unescaped(text)}`);
  }
  return shots.map(({ command, lines }) => ({ command, printed: lines.join('\n') }));
}

function timed(shots: readonly Shot[]): readonly Row[] {
  const rows: Row[] = [];
  let at = 0.5;
  for (const { command, printed } of shots) {
    const takes = command.length * pace.character;
    rows.push({ text: `${prompt}${command}`, kind: 'command', at, takes });
    at += takes + pace.pause;
    for (const line of printed.split('\n')) {
      for (let start = 0; start === 0 || start < line.length; start += columns) {
        const kind = start === 0 ? 'printed' : 'wrapped';
        rows.push({ text: line.slice(start, start + columns), kind, at, takes: 0 });
      }
      at += pace.line;
    }
    at += pace.pause;
  }
  return rows;
}

function drawn({ text, kind, at, takes }: Row, index: number): string {
  const place = `x="${margin}" y="${margin + index * cell.height + 14}"`;
  // Fonts differ; columns do not.
  const length = text.length < 2 ? '' : ` textLength="${(text.length * cell.width).toFixed(1)}"`;
  // From the start of each step: at the end, a browser can be a rounding error before the last one.
  const typing =
    takes === 0 ? '' : `;animation-duration:${takes.toFixed(2)}s;animation-timing-function:steps(${text.length},start)`;
  return `<text class="${kind}" ${place}${length} style="animation-delay:${at.toFixed(2)}s${typing}">${escaped(text)}</text>`;
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

function escaped(text: string): string {
  return text.replaceAll(/[&<>]/g, (character) => entities[character] ?? '');
}

function unescaped(text: string): string {
  return Object.entries(entities).reduceRight((all, [character, entity]) => all.replaceAll(entity, character), text);
}
