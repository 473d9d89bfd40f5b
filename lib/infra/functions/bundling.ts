import { join } from 'node:path';
import { type BundlingOptions, LogLevel, OutputFormat, SourceMapMode } from 'aws-cdk-lib/aws-lambda-nodejs';
import { adminPageFile } from '../../contract/admin-page.ts';
import { openApiFile, trustedIssuersFile } from '../../contract/environment.ts';
import { sourceMapsDir } from '../../contract/source-maps.ts';

/** Root of the repository: entries, `config/` and the lock file are found from here. */
export const repository = join(import.meta.dirname, '../../..');

/** Folder of the cloud assembly with one esbuild metafile a function: what went into each bundle. Not deployed. */
export const metafiles = 'metafiles';

/**
 * How every function is bundled: one ESM file with the AWS SDK inside, so that the deployed code is exactly the tested
 * code. Class names are kept, because errors and logs show them.
 */
export function bundling(options: {
  name: string;
  /** Id of the function's construct. */
  id: string;
  outdir: string;
  /** Of a function that verifies visas: the trust list, relative to the root of the repository. */
  trustedIssuers: string | undefined;
  openApiDocument: string | undefined;
  servesAdminPage: boolean;
}): BundlingOptions {
  const sourceMaps = join(options.outdir, sourceMapsDir);
  return {
    format: OutputFormat.ESM,
    target: 'node24',
    mainFields: ['module', 'main'],
    bundleAwsSDK: true,
    minify: true,
    keepNames: true,
    // Warnings and errors: the sizes of two dozen bundles would hide them.
    logLevel: LogLevel.WARNING,
    // In a file of its own that the bundle does not name: the deployed code stays as small as it is.
    sourceMap: true,
    sourceMapMode: SourceMapMode.EXTERNAL,
    forceDockerBundling: false,
    loader: { '.sql': 'text' },
    // CommonJS packages inside an ES module still call require().
    banner: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);",
    esbuildArgs: {
      '--sources-content': 'false',
      '--metafile': join(options.outdir, metafiles, `${options.name}.json`),
      '--alias:@aws-sdk/credential-provider-node': join(repository, 'lambdas/shared/role-credentials.ts'),
      '--alias:@smithy/core/event-streams': join(repository, 'lambdas/shared/no-event-streams.ts'),
    },
    commandHooks: {
      beforeInstall: () => [],
      beforeBundling: () => [],
      afterBundling: (inputDir, outputDir) => [
        `node -e "fs.mkdirSync(process.argv[3],{recursive:true});fs.renameSync(process.argv[1],process.argv[2])" "${join(outputDir, 'index.mjs.map')}" "${join(sourceMaps, `${options.id}.map`)}" "${sourceMaps}"`,
        ...(options.trustedIssuers
          ? [
              `node -e "fs.cpSync(...process.argv.slice(1))" "${join(inputDir, options.trustedIssuers)}" "${join(outputDir, trustedIssuersFile)}"`,
            ]
          : []),
        ...(options.openApiDocument
          ? [
              `node "${join(inputDir, 'bin/openapi.ts')}" "${join(inputDir, 'docs/openapi', `${options.openApiDocument}.yaml`)}" "${join(outputDir, openApiFile)}"`,
            ]
          : []),
        ...(options.servesAdminPage
          ? [
              `node "${join(inputDir, 'bin/admin-page.ts')}" "${join(outputDir, adminPageFile)}" "${join(options.outdir, metafiles, 'admin-page.json')}"`,
            ]
          : []),
      ],
    },
  };
}
