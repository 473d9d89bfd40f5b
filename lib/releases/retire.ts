import { type ChecklistPoint, checklist } from './checklist.ts';
import { RetirementError } from './errors.ts';
import { look } from './findings.ts';
import { type StepResult, steps, type Work } from './steps.ts';

/**
 * Carry a plan out: remove the image, mark the release, delete the Git tag, then read everything once more.
 * @param onStep called after each step, with what is then proven: a run that stops half-way has told this much
 * @throws RetirementError
 */
export async function retire(
  work: Work,
  teamTold: boolean,
  onStep: (result: StepResult) => void,
): Promise<readonly ChecklistPoint[]> {
  const [obstacle] = work.plan.obstacles;
  if (obstacle) throw obstacle;
  for (const step of steps) onStep(await step(work));
  const points = checklist(work.retirement, await look(work.retirement, work.registry, work.repository), teamTold);
  const open = points.find(({ point, done }) => point !== 'team_told' && !done);
  if (open) throw new RetirementError('not_proven', `at the end this does not hold: ${open.text}; run again`);
  return points;
}
