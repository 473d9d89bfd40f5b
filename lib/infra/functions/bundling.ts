import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { buildSync } from 'esbuild';
import { adminPageFile } from '../../contract/admin-page.ts';
import { openApiFile, trustedIssuersFile } from '../../contract/environment.ts';
import { sourceMapsDir } from '../../contract/synth.ts';

/** Root of the repository: entries, `config/` and the lock file are found from here. */
export const repository = join(import.meta.dirname, '../../..');

/** Folder of the cloud assembly with one esbuild metafile a function: what went into each bundle. Not deployed. */
export const metafiles = 'metafiles';

/** What is in the bundle of a function. */
export interface BundleProps {
  /** Entry file, relative to `lambdas/`. */
  readonly entry: string;
  /** Put this document of `docs/openapi/` beside the bundle. @default - none */
  readonly openApiDocument?: string;
  /** Put the administrators' page beside the bundle. @default false */
  readonly servesAdminPage?: boolean;
}

interface Bundle extends BundleProps {
  /** Id of the function's construct. */
  readonly id: string;
  /** Folder of the cloud assembly. */
  readonly outdir: string;
  /** Of a function that verifies visas or names their issuers: the trust list, relative to the root of the repository. */
  readonly trustedIssuers: string | undefined;
}

/** The code of a function. The CDK's own bundling starts `npx` and shells for each, which takes most of a synth. */
export function bundledCode(bundle: Bundle): Code {
  return Code.fromAsset(repository, {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      image: DockerImage.fromRegistry('none: it is bundled here'),
      // The CDK bundles once for all assets with the same options.
      command: [bundle.id],
      local: {
        tryBundle(output) {
          bundleFunction(bundle, output);
          addFiles(bundle, output);
          return true;
        },
      },
    },
  });
}

/** One ESM file with the AWS SDK inside, so that the deployed code is exactly the tested code. */
function bundleFunction({ entry, id, outdir }: Bundle, output: string): void {
  const { metafile } = buildSync({
    absWorkingDir: repository,
    entryPoints: [join('lambdas', entry)],
    outfile: join(output, 'index.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    mainFields: ['module', 'main'],
    minify: true,
    // Errors and logs show the names of classes.
    keepNames: true,
    // Warnings and errors: the sizes of two dozen bundles would hide them.
    logLevel: 'warning',
    // In its own file that the bundle does not name: the deployed code stays as small as it is.
    sourcemap: 'external',
    sourcesContent: false,
    metafile: true,
    loader: { '.sql': 'text' },
    // CommonJS packages inside an ES module still call require().
    banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
    alias: {
      '@aws-sdk/credential-provider-node': join(repository, 'lambdas/shared/role-credentials.ts'),
      '@smithy/core/event-streams': join(repository, 'lambdas/shared/no-event-streams.ts'),
    },
  });
  const [reports, maps] = [join(outdir, metafiles), join(outdir, sourceMapsDir)];
  for (const folder of [reports, maps]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(reports, `${entry.replace(/\.ts$/, '').replaceAll('/', '-')}.json`), JSON.stringify(metafile));
  renameSync(join(output, 'index.mjs.map'), join(maps, `${id}.map`));
}

/** What a function reads beside its bundle. */
export function addFiles(bundle: Omit<Bundle, 'entry' | 'id'>, output: string, root = repository): void {
  const { trustedIssuers, openApiDocument, servesAdminPage, outdir } = bundle;
  const run = (...argv: string[]) => execFileSync(process.execPath, argv, { cwd: root, stdio: 'inherit' });
  if (trustedIssuers) cpSync(join(root, trustedIssuers), join(output, trustedIssuersFile));
  if (openApiDocument) {
    run('bin/openapi.ts', join(root, 'docs/openapi', `${openApiDocument}.yaml`), join(output, openApiFile));
  }
  if (servesAdminPage) {
    run('bin/admin-page.ts', join(output, adminPageFile), join(outdir, metafiles, 'admin-page.json'));
  }
}

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
