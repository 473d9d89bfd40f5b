import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuildOptions, Metafile, Plugin } from 'esbuild';
import packageJson from '../../package.json' with { type: 'json' };

export const root = join(import.meta.dirname, '../..');
/** The oldest Node.js that runs the package. */
export const oldestNode = 22;

/** What all bundles have in common. */
export const shared = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: `node${oldestNode}`,
  legalComments: 'none',
  metafile: true,
} as const satisfies BuildOptions;

/** The client as one file. @param workerUrl JavaScript that gives the URL of the threads' program */
export function clientBundle(workerUrl: string) {
  return {
    ...shared,
    entryPoints: ['bin/data-out.ts'],
    // Node.js loads a module of CommonJS when it is first used, and one that an ES module imports at the start.
    format: 'cjs',
    logOverride: { 'empty-import-meta': 'error' },
    // Identifiers stay: errors are told apart by their names, and to restore those takes time at each start.
    minifySyntax: true,
    minifyWhitespace: true,
    plugins: [clientFiles(workerUrl)],
  } as const satisfies BuildOptions;
}

/** The rest of this package, such as fetch and WebSocket, is four times as much code. */
const partsOfUndici = `
exports.Agent = require('undici/lib/dispatcher/agent.js');
exports.buildConnector = require('undici/lib/core/connect.js');
exports.Pool = require('undici/lib/dispatcher/pool.js');
exports.ProxyAgent = require('undici/lib/dispatcher/proxy-agent.js');
// The package gives every dispatcher its methods; a proxy agent needs the first one, to open a tunnel.
const { prototype } = require('undici/lib/dispatcher/dispatcher.js');
prototype.connect = require('undici/lib/api/api-connect.js');
prototype.request = require('undici/lib/api/api-request.js');
`;

/** The threads of the client run the given program; of the manifest the client needs its version alone. */
function clientFiles(workerUrl: string): Plugin {
  return {
    name: 'client-files',
    setup({ onLoad, onResolve }) {
      onResolve({ filter: /^hash-wasm$/ }, () => ({
        path: join(root, 'node_modules/hash-wasm/dist/crc64.umd.min.js'),
      }));
      onResolve({ filter: /^undici$/ }, () => ({ path: 'undici', namespace: 'client-files' }));
      // Speaks HTTP/2, for which the client does not ask.
      onLoad({ filter: /[\\/]undici[\\/].*[\\/]client-h2\.js$/ }, () => ({ contents: '' }));
      onLoad({ filter: /.*/, namespace: 'client-files' }, () => ({ contents: partsOfUndici, resolveDir: root }));
      // These modules take milliseconds to load, and a run might not need them. To read a property loads its module.
      onResolve({ filter: /^node:(child_process|crypto|readline|tls|worker_threads|zlib)$/ }, ({ path, namespace }) =>
        namespace === 'on-first-use' ? undefined : { path, namespace: 'on-first-use' },
      );
      onLoad({ filter: /.*/, namespace: 'on-first-use' }, ({ path }) => ({
        contents: `for (const name of ${JSON.stringify(Object.keys(process.getBuiltinModule(path) as object))})
          Object.defineProperty(exports, name, { enumerable: true, get: () => require('${path}')[name] });`,
      }));
      const manifestPath = join(root, 'package.json');
      onLoad({ filter: /[\\/]package\.json$/ }, ({ path }) =>
        path === manifestPath
          ? { contents: JSON.stringify({ version: packageJson.version }), loader: 'json' }
          : undefined,
      );
      onLoad({ filter: /[\\/]crypt4gh[\\/]threads[\\/]segment-workers\.ts$/ }, async ({ path }) => {
        const text = await readFile(path, 'utf8');
        const contents = text.replace("new URL('./segment-worker.ts', import.meta.url)", workerUrl);
        if (contents === text) throw new Error('the URL of the worker file is not where it was');
        return { contents, loader: 'ts' };
      });
    },
  };
}

/** The packages of which a bundle holds code. */
export function packagesOf({ outputs }: Metafile): readonly string[] {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  const names = inputs
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .flatMap(([input]) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1] ?? []);
  return [...new Set(names)].sort();
}
