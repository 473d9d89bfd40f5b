import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { repository } from './bundling.ts';

/** In the message of the CDK for a file that does not exist. */
const missing = 'no-bundles-because-cdk-bootstrap-or-list-made-this-assembly-give-cdk-deploy-without---app';

interface AssetManifest {
  readonly files?: Readonly<Record<string, { readonly source: { path?: string; packaging?: string } }>>;
}

/**
 * Make an assembly without bundles useless for a deployment. Commands such as `cdk bootstrap` leave one, in which the code of each
 * function is the whole checkout: `cdk deploy --app` would upload it, with all secrets in it.
 */
export function disarmUnbundled(outdir: string): void {
  for (const name of readdirSync(outdir).filter((each) => each.endsWith('.assets.json'))) {
    const path = join(outdir, name);
    const manifest = JSON.parse(readFileSync(path, 'utf8')) as AssetManifest;
    for (const { source } of Object.values(manifest.files ?? {})) {
      if (source.path !== undefined && resolve(outdir, source.path) === resolve(repository)) {
        Object.assign(source, { path: missing, packaging: 'file' });
      }
    }
    writeFileSync(path, JSON.stringify(manifest, null, 1));
  }
}
