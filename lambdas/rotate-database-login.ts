import type { Context } from 'aws-lambda';
import * as z from 'zod';
import { secretsManagerClient } from '../lib/service/stores/clients.ts';
import { RotationError, rotateLogin, rotationSteps } from '../lib/service/stores/rds/logins/rotate-login.ts';
import { roleSecrets, workingMs } from './shared/deployment.ts';
import { describeError, logger } from './shared/observability.ts';
import { database } from './shared/wiring.ts';

const request = z.object({ SecretId: z.string(), ClientRequestToken: z.string(), Step: z.enum(rotationSteps) });

const trialMs = 20_000;

const client = secretsManagerClient();
let remainingMs = (): number => 0;
const owner = database({ remainingMs: () => remainingMs() });

/** Rotates the secret of a database role. Called by Secrets Manager, once for each step; a failure makes it call again. */
export async function handler(event: unknown, context: Context): Promise<void> {
  remainingMs = () => workingMs(context);
  const { SecretId, ClientRequestToken: versionId, Step: step } = request.parse(event);
  const secret = roleSecrets.find(({ secretArn }) => secretArn === SecretId);
  if (!secret) throw new RotationError(`${SecretId} is not the secret of a database role`);
  const user = database({ secretArn: secret.secretArn, remainingMs: () => trialMs });
  try {
    const outcome = await rotateLogin(step, versionId, { ...secret, client, owner, user });
    logger.info('rotation', { step, role: secret.role, versionId, outcome });
  } catch (error) {
    logger.error('rotation failed', { step, role: secret.role, versionId, ...describeError(error) });
    throw error;
  }
}
