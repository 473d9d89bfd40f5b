import { access, constants, stat, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { usageError } from '../../terminal/errors.ts';
import { failureOf } from '../../terminal/failure.ts';
import { printable } from '../../terminal/output.ts';
import { expectConsent, type Session } from '../commands/session.ts';
import { opsFailure } from '../errors.ts';
import type { CallRecord } from './api-client.ts';
import { RetirementError } from './errors.ts';
import { makePlan, type Plan } from './plan.ts';
import { Published } from './published.ts';
import { registryClients } from './registry-access.ts';
import type { Retirement } from './request.ts';
import { type StepResult, steps, type Work } from './steps.ts';
import { announcement, type ChecklistPoint, checklist, checklistText, planText, stepText } from './text.ts';

export interface RetirementRunOptions {
  readonly apiUrl: string;
  readonly apply: boolean;
  readonly yes: boolean;
  readonly teamTold: boolean;
  readonly announceFile: string | undefined;
  readonly maxWaitSeconds: number;
}

/** What a run has seen and done so far. It is reported also when the run fails. */
interface Progress {
  plan?: Plan;
  checklist?: readonly ChecklistPoint[];
  readonly steps: StepResult[];
  readonly calls: CallRecord[];
}

/** Plan one retirement, and with `apply` carry it out. @throws RetirementError, UsageError */
export async function runRetirement(
  retirement: Retirement,
  session: Session,
  options: RetirementRunOptions,
): Promise<void> {
  const { terminal, output } = session;
  const progress: Progress = { steps: [], calls: [] };
  try {
    await proceed(retirement, session, options, progress);
    if (output.json) output.result(record(retirement, progress), '');
  } catch (error) {
    if (output.json && progress.calls.length > 0) {
      const { code, message } = failureOf(terminal.signal.aborted ? terminal.signal.reason : error, opsFailure);
      output.result({ ...record(retirement, progress), status: 'stopped', error: { code, message } }, '');
    }
    if (progress.steps.length > 0) output.note('the steps above stay done; the same command resumes after them');
    throw error;
  }
}

async function proceed(
  retirement: Retirement,
  { terminal, timing, output }: Session,
  options: RetirementRunOptions,
  progress: Progress,
): Promise<void> {
  const { apply, yes, teamTold, announceFile, maxWaitSeconds } = options;
  if (announceFile !== undefined) await checkAnnounceFile(terminal.folder, announceFile);
  const say = (text: string) => (output.json ? output.note(text) : output.result({}, text));
  const note = (text: string) => output.note(printable(text));
  const wait = { timing, signal: terminal.signal, maxWaitSeconds, note };
  const record = (call: CallRecord) => void progress.calls.push(call);
  const clients = await registryClients({ ...wait, baseUrl: options.apiUrl, record }, terminal);
  const published = new Published(retirement, clients);

  const before = await published.state();
  const plan = makePlan(retirement, before, clients);
  progress.plan = plan;
  say(planText(retirement, plan));
  const [obstacle] = plan.obstacles;
  if (obstacle) throw obstacle;
  if (plan.complete) {
    progress.checklist = checklist(retirement, before, teamTold);
  } else if (apply) {
    const { component, version, imageTag: word } = retirement;
    const question = { todo: `retire ${component} ${version} for good`, word, otherwise: 'nothing was changed' };
    await expectConsent(terminal, question, yes, (why) => new RetirementError('not_confirmed', why));
    const work = { retirement, plan, published, wait, askToMark: yes ? undefined : askingOn(terminal) };
    // A run that stops half-way has told each step that is proven.
    for (const step of steps) {
      const result = await step(work);
      progress.steps.push(result);
      say(stepText(result));
    }
    progress.checklist = await provenChecklist(work, teamTold);
  } else {
    say('Nothing was changed. Add --apply to carry this out.');
    return;
  }
  say(checklistText(progress.checklist));
  const text = announcement(retirement, terminal.now());
  if (!teamTold) say(`\nTell the team (then --team-told ticks the last point):\n\n${text.trimEnd()}`);
  if (announceFile === undefined) return;
  await writeFile(resolve(terminal.folder, announceFile), text);
  say(`written to ${printable(announceFile)}`);
}

/** Shows what to click, also with `--quiet`, and waits for the person; `undefined` in automation. */
function askingOn({ askShown, report }: Session['terminal']): Work['askToMark'] {
  return (
    askShown &&
    (async (instructions) => {
      for (const line of instructions) report(`${printable(line)}\n`);
      await askShown('Press Enter when it is done: ');
    })
  );
}

/** The checklist, after everything was read once more. @throws RetirementError `not_proven` */
async function provenChecklist({ retirement, published }: Work, teamTold: boolean): Promise<readonly ChecklistPoint[]> {
  const points = checklist(retirement, await published.state(), teamTold);
  const open = points.find(({ point, done }) => point !== 'team_told' && !done);
  if (open) throw new RetirementError('not_proven', `at the end this does not hold: ${open.text}; run again`);
  return points;
}

function record(retirement: Retirement, { plan, steps, checklist, calls }: Progress): Record<string, unknown> {
  return {
    status: checklist ? 'complete' : 'planned',
    ...retirement,
    ...(plan && { plan: { ...plan, obstacles: plan.obstacles.map(({ code, message }) => ({ code, message })) } }),
    steps,
    ...(checklist && { checklist }),
    calls,
  };
}

/** Checks, before anything is deleted, that the text for the team can be written afterwards. @throws UsageError */
export async function checkAnnounceFile(folder: string, name: string): Promise<void> {
  const path = resolve(folder, name);
  try {
    const status = await stat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
    if (status?.isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' });
    await access(status === undefined ? dirname(path) : path, constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw usageError('--announce-file', `${printable(name)} cannot be written (${code})`);
  }
}
