import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { EngineError } from '../errors.ts';
import type { Template } from './template.ts';

/** One synthesized stack. */
export interface Stack {
  /** CloudFormation stack name. */
  readonly name: string;
  readonly template: Template;
  /** The region the stack was synthesized for; `undefined` when it fits any. */
  readonly region: string | undefined;
  /** Folder or file of an asset, by the S3 object key under which a deployment would upload it. */
  readonly assets: ReadonlyMap<string, string>;
}

interface Artifact {
  readonly type: string;
  readonly environment?: string;
  readonly dependencies?: readonly string[];
  readonly properties?: Readonly<Record<string, unknown>>;
}

interface AssetManifest {
  readonly files?: Readonly<
    Record<string, { source: { path?: string }; destinations: Readonly<Record<string, { objectKey: string }>> }>
  >;
}

/**
 * Read a cloud assembly as `cdk synth` leaves it.
 *
 * @returns its stacks, each after those it depends on.
 * @throws EngineError when `directory` holds no assembly.
 */
export function loadAssembly(directory: string): readonly Stack[] {
  const root = resolve(directory);
  const artifacts = readManifest(root);
  const ordered: Stack[] = [];
  const visited = new Set<string>();
  const visit = (id: string) => {
    const artifact = artifacts[id];
    if (!artifact || visited.has(id)) return;
    visited.add(id);
    for (const dependency of artifact.dependencies ?? []) visit(dependency);
    if (artifact.type === 'aws:cloudformation:stack') ordered.push(loadStack(root, id, artifact, artifacts));
  };
  for (const id of Object.keys(artifacts)) visit(id);
  if (ordered.length === 0) throw new EngineError(`${root} holds no stack; run "npm run synth" first`);
  return ordered;
}

function readManifest(directory: string): Readonly<Record<string, Artifact>> {
  const path = join(directory, 'manifest.json');
  try {
    return (readJson(path) as { artifacts?: Record<string, Artifact> }).artifacts ?? {};
  } catch (cause) {
    throw new EngineError(`there is no cloud assembly in ${directory}; run "npm run synth" first`, { cause });
  }
}

function loadStack(
  directory: string,
  id: string,
  artifact: Artifact,
  artifacts: Readonly<Record<string, Artifact>>,
): Stack {
  const properties = artifact.properties ?? {};
  const [, region] = /^aws:\/\/[^/]+\/([a-z0-9-]+)$/.exec(artifact.environment ?? '') ?? [];
  const template = readFileSync(join(directory, String(properties.templateFile)), 'utf8');
  const assets = new Map<string, string>();
  for (const dependency of artifact.dependencies ?? []) {
    const manifest = artifacts[dependency];
    if (manifest?.type === 'cdk:asset-manifest') readAssets(directory, String(manifest.properties?.file), assets);
  }
  return {
    name: typeof properties.stackName === 'string' ? properties.stackName : id,
    template: JSON.parse(template) as Template,
    region: region === 'unknown-region' ? undefined : region,
    assets,
  };
}

function readAssets(directory: string, file: string, assets: Map<string, string>): void {
  const manifest = readJson(join(directory, file)) as AssetManifest;
  for (const { source, destinations } of Object.values(manifest.files ?? {})) {
    for (const { objectKey } of Object.values(destinations)) {
      if (source.path) assets.set(objectKey, resolve(directory, source.path));
    }
  }
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}
