import { identifier, smokeIdPrefix } from '../../contract/messages.ts';
import { usageError } from '../../terminal/errors.ts';

/** What stable ids of this deployment look like: its setting `identifiers`. */
export interface IdentifierPatterns {
  readonly dataset: RegExp;
  readonly file: RegExp;
}

/** The two kinds of ids are easily swapped. */
const otherPrefix = { dataset: 'EGAF', file: 'EGAD' } as const;

/**
 * A stable id that the service can look up and that this archive uses.
 * @param source where it stands: an option, or a line and a column of a file
 * @throws UsageError
 */
export function checkIdentifier(
  source: string,
  value: string,
  kind: keyof IdentifierPatterns,
  patterns: IdentifierPatterns,
): string {
  if (!identifier.safeParse(value).success || value.trim() !== value) {
    throw usageError(source, 'expected 1 to 256 characters, no control characters, no spaces around');
  }
  if (value.startsWith(otherPrefix[kind])) throw usageError(source, `${value} is an identifier of another kind`);
  if (value.startsWith(smokeIdPrefix)) {
    const message = `${value} is an id of a smoke test, and a smoke test deletes what begins so: choose another`;
    throw usageError(source, message);
  }
  if (patterns[kind].test(value)) return value;
  const remedy =
    'Correct the id. For ids of another form, the operator changes the setting "identifiers" and deploys again.';
  const message = `${value} is not a ${kind} id of this archive, whose ids match ${patterns[kind].source}`;
  throw usageError(source, message, remedy);
}
