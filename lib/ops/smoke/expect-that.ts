import { OpsError } from '../errors.ts';

/** What was expected does not hold: the check has failed. @throws OpsError `verification_failed` */
export function expectThat(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new OpsError('verification_failed', otherwise);
}
