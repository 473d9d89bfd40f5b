import { readFileSync } from 'node:fs';
import { deploymentOf, rolesOf, widest } from '../../test/helpers/function-roles.ts';
import type { Cloud } from './cloud.ts';
import type { Log } from './run-steps.ts';

/** What AWS does for a function with its log, its traces and keys is not asked of the emulator's IAM. */
const unasked = /^\w+ (kms|logs|xray):/;

/**
 * Compares what functions asked of the emulator's IAM with their grants, which `npm run grants` proves.
 *
 * @throws Error when a function was denied something there, or used an action that it lacks here
 */
export function secondOpinion({ iamLog }: Cloud, log: Log): string {
  const roles = [{}, widest].flatMap((change) => rolesOf(deploymentOf(change)));
  const granted = new Set(roles.flatMap(({ name, statements }) => statements.map(({ action }) => `${name} ${action}`)));
  const functions = new Set(roles.map(({ name }) => name));
  const lines = readFileSync(iamLog, 'utf8').trim().split('\n');
  const asked = lines.flatMap((line) => {
    const [role = '', action = '', decision, resource] = line.split('\t');
    // Roles are named after stack, construct and id.
    const [, name = ''] = /^\w+-(?:Functions|ProxyOpenApi|DataOutOpenApi)(\w+)Role/.exec(role) ?? [];
    // A batch needs the right of the single call.
    return functions.has(name) ? [{ use: `${name} ${action.replace(/Batch$/, '')}`, decision, resource }] : [];
  });
  const used = new Set(asked.map(({ use }) => use));
  if (used.size === 0) throw new Error(`no function of the deployment is in ${iamLog}`);
  const comparable = [...granted].filter((grant) => !unasked.test(grant));
  const idle = comparable.filter((grant) => !used.has(grant));
  log.note(`Granted here, and not asked there:\n${idle.join('\n')}`);
  const denied = asked.filter(({ decision }) => decision === 'denied').map(({ use, resource }) => `${use} ${resource}`);
  const lacking = [...used].filter((use) => !granted.has(use));
  if (denied.length > 0) throw new Error(`denied there: ${denied.join('; ')}`);
  if (lacking.length > 0) throw new Error(`used there, and lacking here: ${lacking.join('; ')}`);
  return `${used.size} actions were allowed there as here, none was denied; ${idle.length} of ${comparable.length} grants were not asked: ${log.path}`;
}
