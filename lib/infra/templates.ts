import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { repository } from './functions/bundling.ts';
import type { Settings } from './settings.ts';
import { addStacks } from './stacks.ts';

/** The templates of both stacks with these settings, without the functions' code. @throws SettingsError */
export function templatesOf(settings: Settings): readonly object[] {
  const outdir = mkdtempSync(join(tmpdir(), 'data-out-templates-'));
  try {
    const { context } = JSON.parse(readFileSync(join(repository, 'cdk.json'), 'utf8'));
    // `cdk synth` validates them. It takes two thirds of the time.
    const app = new App({
      builtinCloudFormationValidation: false,
      outdir,
      context: { ...context, 'aws:cdk:bundling-stacks': [] },
    });
    addStacks(app, settings);
    return app.synth().stacks.map(({ template }) => template);
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}
