import type { RetirementErrorCode } from '../releases/errors.ts';

/**
 * Exit codes of `retire-release`: one for each refusal. The first digit is the tool's own code for that class, so that a
 * script may look at it alone; 6 and 7 are new: something stands in the way, and begun but not finished.
 */
export const retirementExitCodes: Readonly<Record<RetirementErrorCode, number>> = {
  replacement_equal: 21,
  tag_mismatch: 22,
  organization_not_found: 31,
  package_not_found: 32,
  repository_not_found: 33,
  version_not_found: 34,
  release_not_found: 35,
  replacement_missing: 36,
  token_refused: 41,
  scope_missing: 42,
  access_denied: 43,
  rate_limited: 51,
  server_error: 52,
  network_failure: 53,
  ambiguous_version: 61,
  other_tags: 62,
  too_many_downloads: 63,
  last_version: 64,
  ambiguous_release: 65,
  replacement_broken: 66,
  tag_protected: 67,
  changed_meanwhile: 68,
  moved: 69,
  refused: 60,
  not_marked: 71,
  not_confirmed: 72,
  not_proven: 73,
};
