import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { App } from 'aws-cdk-lib';
import { settings } from '../../bin/settings.ts';
import type { Settings } from '../../lib/infra/settings.ts';
import { addStacks } from '../../lib/infra/stacks.ts';
import { templateApp } from '../../lib/infra/templates.ts';
import { assembly } from './assembly.ts';

/** Copy the assembly to a folder, with the templates of other settings around its bundles. */
export async function copyWithSettings(folder: string, change: Partial<Settings>): Promise<void> {
  const made = await assembly();
  cpSync(made, folder, { recursive: true });
  const app = appOf([]);
  addStacks(app, { ...settings, ...change });
  for (const { templateFile, template } of app.synth().stacks) {
    const bundled = JSON.parse(readFileSync(join(made, templateFile), 'utf8'));
    for (const [id, { Type, Properties }] of Object.entries<{ Type: string; Properties: { Code: unknown } }>(
      template.Resources,
    )) {
      if (Type === 'AWS::Lambda::Function') Properties.Code = bundled.Resources[id].Properties.Code;
    }
    writeFileSync(join(folder, templateFile), JSON.stringify(template));
  }
}

/** Synthesize other settings into a folder, with all bundles: for settings that add a function. */
export function synthesizeWithSettings(folder: string, change: Partial<Settings>): void {
  const app = appOf(['**'], folder);
  addStacks(app, { ...settings, ...change });
  app.synth();
}

function appOf(bundledStacks: readonly string[], outdir?: string): App {
  const asTheCli = { 'aws:cdk:enable-path-metadata': true, 'aws:cdk:bundling-stacks': bundledStacks };
  return templateApp({ context: asTheCli, ...(outdir !== undefined && { outdir }) });
}
