import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Template } from 'aws-cdk-lib/assertions';
import type { Settings } from '../../lib/infra/settings.ts';
import { templatesOf as synthesized } from '../../lib/infra/templates.ts';
import { digestOfInputs } from '../../lib/local/template/fresh-assembly.ts';

export interface Templates {
  /** Of the storage stack. */
  readonly stored: Template;
  /** Of the service stack. */
  readonly served: Template;
}

/** For every file of a worker: many tests look at the same templates, and must not change them. */
const made = new Map<string, Templates>();
const root = join(import.meta.dirname, '../..');
let kept: string | undefined;

/**
 * The templates of both stacks. A synth takes a quarter of a second of a processor, so all workers, and later runs, share what was
 * made from the same sources.
 * @throws SettingsError
 */
export function templatesOf(settings: Settings): Templates {
  const key = JSON.stringify(settings);
  const known = made.get(key);
  if (known) return known;
  type Pair = readonly [stored: Record<string, unknown>, served: Record<string, unknown>];
  const [stored, served] = remembered(key, () => synthesized(settings) as Pair);
  const templates = { stored: Template.fromJSON(stored), served: Template.fromJSON(served) };
  made.set(key, templates);
  return templates;
}

/** What was made from the same sources, as JSON. @param key all that it depends on besides the sources */
export function remembered<T>(key: string, make: () => T): T {
  if (process.env.COUNTS_LINES) return make();
  kept ??= keptFolder();
  const path = join(kept, createHash('sha256').update(key).digest('hex'));
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    const result = make();
    const unfinished = `${path}.${process.pid}`;
    writeFileSync(unfinished, JSON.stringify(result));
    renameSync(unfinished, path);
    return result;
  }
}

/** The folder of what was made from these sources. Those of earlier sources go. */
function keptFolder(): string {
  const all = join(root, 'node_modules/.cache/templates');
  const own = digestOfInputs(root);
  mkdirSync(join(all, own), { recursive: true });
  for (const name of readdirSync(all)) if (name !== own) rmSync(join(all, name), { recursive: true, force: true });
  return join(all, own);
}
