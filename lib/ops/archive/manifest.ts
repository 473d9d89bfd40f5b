import { parseCsv } from '../../terminal/csv.ts';
import { usageError } from '../../terminal/errors.ts';

/** A row of a manifest. Its ids and paths are not checked yet. */
export interface ManifestRow {
  /** Names a column of this row in errors: `files.csv, line 3, column path`. */
  readonly where: (column: string) => string;
  /** Path of the file on this machine, from the folder of the manifest's paths on. */
  readonly name: string;
  /** Path that researchers see. */
  readonly path: string;
  readonly datasetId: string;
  readonly fileId: string | undefined;
}

/**
 * The rows of a manifest, see `parseCsv`: the columns `path`, and optionally `file_id` (an empty one: a new local id),
 * `submission_path` (the path that researchers see; an empty one: `path`) and `dataset` (an empty one: `datasetId`).
 * @throws UsageError that names line and column: for a path outside the folder, a file, an id or a path of a dataset that is
 *   listed twice, and a row without a dataset
 */
export function readManifest(bytes: Uint8Array, file: string, datasetId: string | undefined): readonly ManifestRow[] {
  const form = {
    source: '--manifest',
    path: file,
    required: ['path'],
    optional: ['file_id', 'submission_path', 'dataset'],
  };
  const lines = new Map<string, number>();
  return parseCsv(bytes, form).map(({ line, values, fault }) => {
    if (fault !== undefined) throw usageError('--manifest', `${file}, line ${line}: ${fault}`);
    const where = (column: string) => `${file}, line ${line}, column ${column}`;
    const once = (column: string, value: string, key: string) => {
      const earlier = lines.get(key);
      if (earlier !== undefined) throw usageError(where(column), `${value} stands in line ${earlier}, too`);
      lines.set(key, line);
    };
    const name = values.path ?? '';
    const dataset = values.dataset || datasetId;
    if (name === '') throw usageError(where('path'), 'the value is empty');
    if (name.startsWith('/') || name.split('/').includes('..')) {
      throw usageError(where('path'), `${name} is outside of the folder`);
    }
    if (dataset === undefined) throw usageError(where('dataset'), 'the value is empty, and there is no --dataset');
    const path = values.submission_path || name;
    once('path', name, `file ${name}`);
    if (values.file_id) once('file_id', values.file_id, `id ${values.file_id}`);
    once(values.submission_path ? 'submission_path' : 'path', path, `place ${dataset} ${path}`);
    return { where, name, path, datasetId: dataset, fileId: values.file_id || undefined };
  });
}
