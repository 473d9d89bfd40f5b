import { fileSuffixes, indexPathsOf } from '../../../regions/index.ts';
import type { IndexName } from './ports.ts';

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
