import packageJson from '../../package.json' with { type: 'json' };
import type { BundledPackage } from './bundled-packages.ts';

/** Of `process.versions`: Node itself, and numbers of interfaces. */
const noLibraries = new Set(['node', 'modules', 'napi']);

/**
 * The parts of an executable as CycloneDX 1.6: the packages in the bundle, and Node.js with its libraries. It has neither a
 * time nor a random number, so that the same commit gives the same bytes.
 * @param versions those of the Node.js that is in the executable, as `process.versions` has them
 */
export function sbomOf(packages: readonly BundledPackage[], versions: Readonly<NodeJS.ProcessVersions>): object {
  const { name, version, license } = packageJson;
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      lifecycles: [{ phase: 'build' }],
      component: { type: 'application', name, version, ...licensed(license) },
    },
    components: [
      ...packages.map((each) => ({
        type: 'library',
        name: each.name,
        version: each.version,
        purl: `pkg:npm/${each.name.replace('@', '%40')}@${each.version}`,
        ...licensed(each.license),
      })),
      {
        type: 'platform',
        name: 'node',
        version: versions.node,
        cpe: `cpe:2.3:a:nodejs:node.js:${versions.node}:*:*:*:*:*:*:*`,
        ...licensed('MIT'),
        components: Object.entries(versions)
          .filter(([library, installed]) => installed !== '' && !noLibraries.has(library))
          .map(([library, installed]) => ({ type: 'library', name: library, version: installed })),
      },
    ],
  };
}

function licensed(expression: string) {
  return { licenses: [{ expression }] };
}
