import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Template } from 'aws-cdk-lib/assertions';
import type { Settings } from '../../lib/infra/settings.ts';
import { addStacks } from '../../lib/infra/stacks.ts';
import { templateApp } from '../../lib/infra/templates.ts';

export interface Templates {
  /** Of the storage stack. */
  readonly stored: Template;
  /** Of the service stack. */
  readonly served: Template;
}

/** One name for all: names of assets depend on it. The folder is there only while templates are made. */
const outdir = mkdtempSync(join(tmpdir(), 'data-out-'));
rmSync(outdir, { recursive: true });

/** For every file of a worker: many tests look at the same templates, and must not change them. */
const made = new Map<string, Templates>();

/** The templates of both stacks. @throws SettingsError */
export function templatesOf(settings: Settings): Templates {
  const key = JSON.stringify(settings);
  const known = made.get(key);
  if (known) return known;
  try {
    const { storage, service } = addStacks(templateApp({ outdir }), settings);
    const templates = { stored: Template.fromStack(storage), served: Template.fromStack(service) };
    made.set(key, templates);
    return templates;
  } finally {
    rmSync(outdir, { recursive: true });
  }
}
