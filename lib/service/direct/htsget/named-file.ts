import { percentDecoded } from '../../../common/percent.ts';
import { identifier } from '../../../contract/messages.ts';
import { fileSuffixes, indexPathsOf } from '../../../regions/index.ts';
import type { DatasetGrant } from '../../../visas/index.ts';
import type { HttpRequest } from '../../http/request.ts';
import { accessRefused } from '../access.ts';
import type { IndexedFile, IndexName, NamedFile, RegionCatalogue } from './ports.ts';

/** Characters of a submitter's path that can be asked for. */
const longestPath = 4_096;

/**
 * The file in the path of a request: a file id, or a dataset and the submitter's path behind the first slash, with
 * percent-encoded slashes or plain ones.
 *
 * @throws `forbidden` for what no catalogue can hold, the same as for an unknown file
 */
export function namedFile(request: HttpRequest): NamedFile {
  const name = percentDecoded(request.pathParameters.get('id') ?? '');
  const slash = name.indexOf('/');
  const id = slash < 0 ? name : name.slice(0, slash);
  if (!identifier.safeParse(id).success) throw accessRefused();
  if (slash < 0) return { fileId: id };
  const path = name.slice(slash + 1);
  if (!isSubmittedPath(path)) throw accessRefused();
  return { datasetId: id, path };
}

/** Whether a catalogue can hold this path of a submitter. */
export function isSubmittedPath(path: string): boolean {
  return path !== '' && path.length <= longestPath && !/[\p{Cc}\p{Cs}]/u.test(path);
}

/** A file that the caller may have now, and the grant that says so. */
export interface GrantedFile extends Pick<IndexedFile, 'data' | 'index'> {
  /** Of the grants that name the dataset, the one that ends last. */
  readonly grant: DatasetGrant;
}

/**
 * The file with its index, if the grants give it and its dataset is released at this moment.
 *
 * @throws `forbidden`, the same for what is unknown, not released or not granted
 */
export async function grantedFile(
  wanted: NamedFile,
  grants: readonly DatasetGrant[],
  catalogue: RegionCatalogue,
  indexNames: readonly IndexName[],
): Promise<GrantedFile> {
  // No catalogue can hold such an id, and the database would fail on it rather than answer.
  const usable = grants.filter(({ datasetId }) => identifier.safeParse(datasetId).success);
  const found = await catalogue.findIndexedFile(
    usable.map(({ datasetId }) => datasetId),
    wanted,
    indexNames,
  );
  const [grant] = (found?.namedBy ?? [])
    .flatMap((index) => usable[index] ?? [])
    .sort((a, b) => b.expiresAt.getTime() - a.expiresAt.getTime());
  if (!found || !grant) throw accessRefused();
  return { data: found.data, index: found.index, grant };
}

/** What the catalogue looks for beside a data file: the rules of `indexPathsOf`, in a form that SQL can apply to any path. */
export const indexNames: readonly IndexName[] = fileSuffixes.flatMap((suffix) =>
  [suffix, `${suffix}.c4gh`].flatMap((ending) =>
    indexPathsOf(`x${ending}`).map((path) => {
      // The name may be in any case, so what it keeps of itself is not compared with the new name letter by letter.
      const kept = path.startsWith(`x${suffix}`) ? suffix.length : 0;
      return { ending, drop: ending.length - kept, add: path.slice(1 + kept) };
    }),
  ),
);
