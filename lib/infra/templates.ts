import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, type AppProps } from 'aws-cdk-lib';
import { repository } from './functions/bundling.ts';
import type { Settings } from './settings.ts';
import { addStacks } from './stacks.ts';

/**
 * An app with this repository's feature flags, for its templates alone. It bundles nothing, and leaves out what takes time and is in no
 * template: the tree, and where each construct was made.
 */
export function templateApp(props: AppProps = {}): App {
  const { context } = JSON.parse(readFileSync(join(repository, 'cdk.json'), 'utf8'));
  const quick = { 'aws:cdk:bundling-stacks': [], 'aws:cdk:disable-creation-stack-traces': true };
  return new App({ treeMetadata: false, ...props, context: { ...context, ...quick, ...props.context } });
}

/**
 * The templates of both stacks with these settings, without the functions' code: storage first. Each synth has a new folder, because
 * the CDK remembers asset names by folder.
 * @throws SettingsError
 */
export function templatesOf(settings: Settings): readonly object[] {
  const outdir = mkdtempSync(join(tmpdir(), 'data-out-templates-'));
  try {
    // `cdk synth` validates them. It takes two thirds of the time.
    const app = templateApp({ builtinCloudFormationValidation: false, outdir });
    addStacks(app, settings);
    return app.synth().stacks.map(({ template }) => template);
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}
