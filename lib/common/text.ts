/** A number of things for people: `1 file`, `12 files`. */
export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** A size in bytes for people: `70.0 MiB`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return unit === 0 ? `${bytes} B` : `${value.toFixed(1)} ${units[unit]}`;
}

/** A duration in milliseconds for people: `640 ms`, `3.2 s`, `4 min 05 s`, `2 h 10 min`, from two days on `12 days`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${String(seconds % 60).padStart(2, '0')} s`;
  const hours = Math.floor(minutes / 60);
  if (hours >= 48) return `${Math.floor(hours / 24)} days`;
  return `${hours} h ${String(minutes % 60).padStart(2, '0')} min`;
}

/** Characters that a terminal or a browser obeys or hides: controls, bidi and other format characters, line separators. */
export const notShown = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Text from elsewhere, made safe to show: characters that a terminal or a browser would obey or hide become `\u{…}`. */
export function printable(text: string): string {
  return text.replace(notShown, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** Text as programs write it: UTF-8, or UTF-16 with its mark, as `>` of Windows PowerShell does. A mark is left out. */
export function decodedText(bytes: Uint8Array): string {
  const encodings: Readonly<Record<string, string>> = { '255,254': 'utf-16le', '254,255': 'utf-16be' };
  return new TextDecoder(encodings[Array.from(bytes.subarray(0, 2)).join()]).decode(bytes);
}
