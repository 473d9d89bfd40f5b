import { compareOffsets, type VirtualOffset, type VirtualRange } from '../virtual-offsets.ts';

/** What one data URL gives: some of the file, its header included, or some bytes of the archived body for one reader. */
export type PartForm =
  | { readonly kind: 'records'; readonly range: VirtualRange }
  | {
      readonly kind: 'segments';
      readonly start: number;
      readonly end: number;
      /** Fingerprint of the reader's key. */
      readonly reader: string;
    };

/** A data URL says all that decides its bytes. */
export interface TicketPart {
  /** Which version of the archived file it is cut from, 32 hex characters. */
  readonly version: string;
  readonly form: PartForm;
}

/** The part as one path segment of `a-z`, `0-9`, `.`, `_` and `-`: `<version>.records.<place>-<place>`. */
export function partName({ version, form }: TicketPart): string {
  if (form.kind === 'records') return `${version}.records.${placeName(form.range.start)}-${placeName(form.range.end)}`;
  return `${version}.segments.${form.start}-${form.end}.${form.reader}`;
}

/** Offset of the block, then the offset within it, or `n` for a nominal place. */
function placeName({ block, within, nominal }: VirtualOffset): string {
  return nominal ? `${block}_n` : `${block}_${within}`;
}

const number = '(?:0|[1-9]\\d{0,15})';
const place = `(${number})_(n|${number})`;
const pattern = new RegExp(
  `^([0-9a-f]{32})\\.(?:records\\.${place}-${place}|segments\\.(${number})-(${number})\\.([0-9a-f]{64}))$`,
);

/** The reverse of {@link partName}; `undefined` for another name, or for no bytes. */
export function parsePart(name: string): TicketPart | undefined {
  const [, version, block, within, endBlock, endWithin, from, to, reader] = pattern.exec(name) ?? [];
  if (version === undefined) return undefined;
  if (reader !== undefined) {
    const [start, end] = [Number(from), Number(to)];
    return start < end ? { version, form: { kind: 'segments', start, end, reader } } : undefined;
  }
  const range = { start: parsePlace(block, within), end: parsePlace(endBlock, endWithin) };
  return compareOffsets(range.start, range.end) < 0 ? { version, form: { kind: 'records', range } } : undefined;
}

function parsePlace(block: string | undefined, within: string | undefined): VirtualOffset {
  if (within === 'n') return { block: Number(block), within: 0, nominal: true };
  return { block: Number(block), within: Number(within) };
}
