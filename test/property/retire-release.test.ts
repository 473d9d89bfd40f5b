import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RegistryServer, type StoredVersion } from '../helpers/registry-server.ts';
import { retireRelease } from '../helpers/retirement-world.ts';
import { runs } from '../helpers/runs.ts';

let server: RegistryServer;
beforeAll(async () => {
  server = await RegistryServer.start();
});
afterAll(() => server.stop());

/** Tags that look alike: prefixes, suffixes, other cases, other components, other zeros. */
const lookAlikes = [
  'proxy-1.2',
  'proxy-1.2.0',
  'proxy-1.2.00',
  'proxy-1.2.0-rc.1',
  'proxy-1.2.01',
  'proxy-1.2.1',
  'Proxy-1.2.0',
  'old-proxy-1.2.0',
  'proxy-v1.2.0',
  'proxy_1.2.0',
  'proxy-1.2.0.',
  'auth-1.2.0',
  '1.2.0',
  'latest',
];
const tag = fc.constantFrom(...lookAlikes);
const tags = fc.uniqueArray(tag, { maxLength: 3 });
const number = fc.constantFrom('1.2', '1.2.0', '1.2.1', '1.2.00', '1.2.0-rc.1', '1.2.01');

/** Another person moves a tag at some call. The exact moment between our last look and the deletion cannot be guarded. */
const move = fc.record({ call: fc.nat({ max: 5 }), from: fc.nat({ max: 5 }), to: fc.nat({ max: 5 }), tag });

/** A version has a tag once. */
function give(version: StoredVersion | undefined, tag: string): void {
  if (version && !version.tags.includes(tag)) version.tags.push(tag);
}

test('no run ever deletes a version that lacks the exact tag, or more than one', async () => {
  let deletions = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(tags, { minLength: 2, maxLength: 6 }),
      fc.constantFrom('proxy', 'old-proxy', 'auth'),
      number,
      number,
      tags,
      fc.option(move, { nil: undefined, freq: 2 }),
      fc.integer({ min: 1, max: 3 }),
      fc.boolean(),
      async (tagLists, component, version, replacement, given, moved, pageSize, plausible) => {
        server.reset();
        server.maxPerPage = pageSize;
        const wanted = `${component}-${version}`;
        const versions: StoredVersion[] = tagLists.map((each, index) => ({
          id: 200 + index,
          digest: `sha256:${String(index).repeat(64)}`,
          tags: [...each],
        }));
        // More often than by chance, the request is one that an operator would make. Otherwise no run would delete anything.
        let alsoRemove = given;
        if (plausible) {
          give(versions[0], `${component}-${replacement}`);
          if (!versions.some((each) => each.tags.includes(wanted))) give(versions[1], wanted);
          const found = versions.find((each) => each.tags.includes(wanted));
          alsoRemove = found?.tags.filter((each) => each !== wanted) ?? [];
        }
        server.state.versions = versions;
        server.state.releases.push({ id: 90, tag: `${wanted}.x`, name: 'other', draft: false });
        server.state.tags[wanted] = '7'.repeat(40);
        const deleted: { readonly tags: readonly string[] }[] = [];
        server.onCall = (index, method, path) => {
          if (index === moved?.call && method !== 'DELETE') {
            const [from, to] = [versions[moved.from], versions[moved.to]];
            if (from?.tags.includes(moved.tag)) from.tags = from.tags.filter((each) => each !== moved.tag);
            give(to, moved.tag);
          }
          if (method !== 'DELETE' || !path.startsWith('/orgs')) return;
          const found = server.state.versions.find(({ id }) => path.endsWith(`/${id}`));
          if (found) deleted.push({ tags: [...found.tags] });
        };
        const others = ['--also-remove-tags', alsoRemove.join(',')];
        const argv = ['--apply', '--yes', '--no-release', ...(alsoRemove.length > 0 ? others : [])];
        await retireRelease(server, argv, { named: { component, version, replacement } });
        expect(server.violations).toEqual([]);
        expect(deleted.length).toBeLessThanOrEqual(1);
        deletions += deleted.length;
        for (const each of deleted) {
          expect(each.tags).toContain(wanted);
          // And it removes no tag that was not announced.
          expect(each.tags.filter((one) => one !== wanted).sort()).toEqual([...alsoRemove].sort());
        }
        for (const ref of ['proxy-1.2.1', 'proxy-1.2.0-rc.1']) {
          if (ref !== wanted) expect(server.state.tags[ref]).toBeDefined();
        }
      },
    ),
    { numRuns: runs(100) },
  );
  // The property says something only when runs do delete.
  expect(deletions).toBeGreaterThan(runs(100) < 100 ? 0 : 9);
});
