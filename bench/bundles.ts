import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { assembly } from '../test/helpers/assembly.ts';
import { figure, median, type Report, ratio, verdict } from './report.ts';

const runs = 5;
const limits = { bytes: 1_500_000, milliseconds: 120 };

interface Bundle {
  readonly name: string;
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** Milliseconds. */
interface ColdStart {
  /** Import and initialisation. */
  readonly wall: number;
  /** The same in CPU time of the process itself. */
  readonly user: number;
  /** The whole process, from start to exit. */
  readonly process: number;
}

/** Size of each function's bundle, and the time and memory to import and initialise it in a fresh process. */
export default async function bundles(report: Report): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'data-out-bench-'));
  const empty = join(folder, 'empty.mjs');
  writeFileSync(empty, 'export const handler = () => {};\n');
  const reference = await coldStart(empty, {});
  rmSync(folder, { recursive: true });

  const rows: (readonly string[])[] = [];
  for (const bundle of readBundles(await assembly())) {
    const bytes = sizeOf(bundle.folder);
    const { wall, user, process: whole } = await coldStart(join(bundle.folder, 'index.mjs'), bundle.environment);
    const holds = bytes <= limits.bytes && wall <= limits.milliseconds;
    const times = [figure(wall), figure(user), figure(whole), ratio(whole, reference.process)];
    rows.push([bundle.name, figure(bytes / 1000), ...times, verdict(holds)]);
  }
  const { wall, user, process: whole } = reference;
  report.table(
    [
      'function',
      'kB unzipped',
      'import and init, ms',
      'of it user CPU, ms',
      'whole process, ms',
      '× empty file',
      '≤ 1.5 MB, ≤ 120 ms',
    ],
    [...rows, ['(an empty ESM file)', '0', figure(wall), figure(user), figure(whole), '1', '']],
  );
}

/** Median of several fresh processes, one after the other. */
async function coldStart(file: string, environment: Readonly<Record<string, string>>): Promise<ColdStart> {
  const env = {
    PATH: process.env.PATH,
    AWS_REGION: 'eu-north-1',
    AWS_ACCESS_KEY_ID: 'none',
    AWS_SECRET_ACCESS_KEY: 'none',
    ...environment,
  };
  const results: ColdStart[] = [];
  for (let run = 0; run < runs; run += 1) {
    const script = join(import.meta.dirname, 'cold-start.mjs');
    const started = performance.now();
    const { stdout } = await promisify(execFile)(process.execPath, [script, file], { env });
    results.push({ ...(JSON.parse(stdout) as { wall: number; user: number }), process: performance.now() - started });
  }
  const middle = (name: keyof ColdStart) => median(results.map((result) => result[name]));
  return { wall: middle('wall'), user: middle('user'), process: middle('process') };
}

/** The functions of the service stack; those that the CDK adds for itself are not bundles of ours. */
function readBundles(assemblyDir: string): Bundle[] {
  const template = JSON.parse(readFileSync(join(assemblyDir, 'DataOutService.template.json'), 'utf8')) as {
    Resources: Record<string, LambdaFunction>;
  };
  return Object.values(template.Resources)
    .filter(({ Type }) => Type === 'AWS::Lambda::Function')
    .map(({ Properties, Metadata }) => ({
      name: /Functions\/(\w+)\/Function/.exec(Metadata?.['aws:cdk:path'] ?? '')?.[1] ?? '',
      folder: join(assemblyDir, `asset.${Properties.Code?.S3Key?.replace('.zip', '')}`),
      // Names of other resources are known at the deployment only. Initialisation does not read them.
      environment: Object.fromEntries(
        Object.entries(Properties.Environment?.Variables ?? {}).map(([name, value]) => [
          name,
          typeof value === 'string' ? value : 'deployed',
        ]),
      ),
    }))
    .filter(({ name, folder }) => name !== '' && existsSync(join(folder, 'index.mjs')));
}

interface LambdaFunction {
  readonly Type: string;
  readonly Metadata?: Record<string, string>;
  readonly Properties: {
    readonly Code?: { readonly S3Key?: string };
    readonly Environment?: { readonly Variables?: Record<string, unknown> };
  };
}

function sizeOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => statSync(join(folder, name)));
  return files.reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
}
