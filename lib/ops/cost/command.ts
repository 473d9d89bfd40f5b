import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { UsageError } from '../../terminal/errors.ts';
import { exitCodes } from '../../terminal/exit-codes.ts';
import { formatTable } from '../../terminal/output.ts';
import { inventoryOf } from './inventory.ts';
import {
  costPage,
  egressOf,
  type Month,
  missingIn,
  monthOf,
  scenarios,
  servicesOf,
  serviceTable,
  share,
  type Table,
} from './report.ts';

const help = `What a deployment with these settings costs in a month.
Usage: npm run cost -- [--files N --gib X --exports M] [--downloads N] [--days N] [--json | --write]

  --files N      files of one export
  --gib X        GiB of one export
  --exports M    exports a month
  --downloads N  how often each file is downloaded; 1 if not said
  --days N       days in the outbox; if not said, those of your settings
  --json         one JSON object per month
  --write        write the tables of docs/cost.md

Without --files, --gib and --exports: a month without exports, one with 1 TB, and one with 1 PB.
`;

/** What the command looks at. */
export interface CostInputs {
  /** Root of the repository, whose pages it reads and writes. */
  readonly root: string;
  /** The templates of both stacks. A mistake on the command line is told without them. */
  readonly templates: (isForPage: boolean) => Promise<readonly object[]>;
}

/** Where the command writes. */
export interface CostOutput {
  /** Standard output. */
  readonly write: (text: string) => void;
  /** Standard error. */
  readonly report: (text: string) => void;
  /** Width of the terminal. @default - standard output is none */
  readonly columns?: number | undefined;
}

/** `npm run cost`. @returns the exit code */
export async function runCost(argv: readonly string[], output: CostOutput, inputs: CostInputs): Promise<number> {
  try {
    await cost(argv, output, inputs);
    return exitCodes.ok;
  } catch (error) {
    if (error instanceof UsageError) {
      output.report(`${error.message}\n\n${help}`);
      return exitCodes.usage;
    }
    if (error instanceof Error && error.name === 'SettingsError') {
      output.report(`${error.message}\n`);
      return exitCodes.unexpected;
    }
    throw error;
  }
}

async function cost(argv: readonly string[], output: CostOutput, { root, templates }: CostInputs): Promise<void> {
  const values = parse(argv);
  if (values.help) return output.write(help);
  const asked = workloadOf(values);
  const downloads = numberOf('downloads', values.downloads, 0) ?? 1;
  const askedDays = numberOf('days', values.days, 1);
  if (values.write && Object.keys(values).length > 1) throw new UsageError('--write goes with no other option');
  const inventory = inventoryOf(await templates(values.write === true));
  if (values.write) {
    const pageFile = join(root, 'docs/cost.md');
    writeFileSync(pageFile, costPage(readFileSync(pageFile, 'utf8'), inventory));
    return;
  }
  const days = askedDays ?? inventory.outboxDays;
  const named = asked ? [{ name: 'asked', month: asked }] : scenarios;
  const months = named.map(({ month }) => priced(inventory, { ...month, downloads, days }));
  if (values.json) {
    for (const month of months) output.write(`${JSON.stringify(month)}\n`);
    return;
  }
  output.write('USD a month, region us-east-1, nothing free subtracted\n\n');
  const [first] = months;
  if (asked && first) {
    print(output, serviceTable(first));
    output.write(`egress is ${share(egressOf(first.service) / first.service.total)} of it\n`);
  } else {
    const names = named.map(({ name }) => name);
    print(output, servicesOf(months, names));
  }
  const missing = missingIn(months);
  if (missing.length > 0) output.write(`\nno price was found, and none is counted: ${missing.join('; ')}\n`);
  output.write('Sources, assumptions and what is left out: docs/cost.md\n');
}

/** @throws UsageError for files that S3 cannot hold */
function priced(...[inventory, month]: Parameters<typeof monthOf>): Month {
  try {
    return monthOf(inventory, month);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError(`--gib: expected at most 48.8 TiB a file, got ${month.gib / month.files} GiB`, {
      cause: error,
    });
  }
}

function parse(args: readonly string[]) {
  try {
    const text = { type: 'string' } as const;
    const flag = { type: 'boolean' } as const;
    const options = { files: text, gib: text, exports: text, downloads: text, days: text };
    return parseArgs({ args: [...args], options: { ...options, json: flag, write: flag, help: flag } }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function workloadOf(values: { readonly files?: string; readonly gib?: string; readonly exports?: string }) {
  const files = numberOf('files', values.files, 1, 'whole number');
  const gib = numberOf('gib', values.gib, 0);
  const exports = numberOf('exports', values.exports, 0, 'whole number');
  if (files === undefined && gib === undefined && exports === undefined) return undefined;
  if (files === undefined || gib === undefined || exports === undefined)
    throw new UsageError('--files, --gib and --exports go together');
  return { files, gib, exports };
}

function numberOf(
  name: string,
  value: string | undefined,
  least: number,
  kind: 'number' | 'whole number' = 'number',
): number | undefined {
  if (value === undefined) return undefined;
  const number = value.trim() === '' ? Number.NaN : Number(value);
  const isRight = kind === 'number' ? Number.isFinite(number) : Number.isInteger(number);
  if (!isRight || number < least) throw new UsageError(`--${name}: expected a ${kind} from ${least} on, got ${value}`);
  return number;
}

function print({ write, columns: width }: CostOutput, { titles, rows }: Table): void {
  const columns = titles.map((title, index) => ({
    title: title.toUpperCase(),
    ...(index > 0 && { align: 'right' as const }),
  }));
  for (const line of formatTable(columns, rows, width)) write(`${line}\n`);
}
