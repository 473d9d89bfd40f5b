import { access, constants, stat, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Timing } from '../../common/timing.ts';
import { usageError } from '../../terminal/errors.ts';
import { failureOf } from '../../terminal/failure.ts';
import { type Output, printable } from '../../terminal/output.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { expectConsent } from '../commands/session.ts';
import { opsFailure } from '../errors.ts';
import { type ChecklistPoint, checklist } from './checklist.ts';
import { RetirementError } from './errors.ts';
import { makePlan, type Plan } from './plan.ts';
import { readPublished } from './published-state.ts';
import type { CallRecord } from './recorded-fetch.ts';
import { Registry } from './registry.ts';
import { registryClients } from './registry-access.ts';
import { Repository } from './repository.ts';
import type { Retirement } from './request.ts';
import { retire, type StepResult } from './steps.ts';
import { announcement, checklistText, planText, stepText } from './text.ts';

export interface RetirementRunOptions {
  readonly terminal: Terminal;
  readonly timing: Timing;
  readonly output: Output;
  readonly apiUrl: string;
  readonly apply: boolean;
  readonly yes: boolean;
  readonly teamTold: boolean;
  readonly announceFile: string | undefined;
  readonly maxWaitSeconds: number;
}

/** PublishedState and steps of a run so far. They are reported also when the run fails. */
interface Progress {
  plan?: Plan;
  checklist?: readonly ChecklistPoint[];
  readonly steps: StepResult[];
  readonly calls: CallRecord[];
}

/** Plan one retirement, and with `apply` carry it out. @throws RetirementError, UsageError */
export async function runRetirement(retirement: Retirement, options: RetirementRunOptions): Promise<void> {
  const { terminal, output } = options;
  const progress: Progress = { steps: [], calls: [] };
  try {
    await proceed(retirement, options, progress);
    if (output.json) output.result(record(retirement, progress), '');
  } catch (error) {
    if (output.json && progress.calls.length > 0) {
      const { code, message } = failureOf(terminal.signal.aborted ? terminal.signal.reason : error, opsFailure);
      output.result({ ...record(retirement, progress), status: 'stopped', error: { code, message } }, '');
    }
    if (progress.steps.length > 0) {
      output.note('the steps above stay done; the same command goes on from there');
    }
    throw error;
  }
}

async function proceed(retirement: Retirement, options: RetirementRunOptions, progress: Progress): Promise<void> {
  const { terminal, timing, output, apply, announceFile } = options;
  if (announceFile !== undefined) await checkAnnounceFile(terminal.folder, announceFile);
  const say = (text: string) => (output.json ? output.note(text) : output.result({}, text));
  const note = (text: string) => output.note(printable(text));
  const wait = { timing, signal: terminal.signal, maxWaitSeconds: options.maxWaitSeconds, note };
  const record = (call: CallRecord) => void progress.calls.push(call);
  const clients = await registryClients({ ...wait, baseUrl: options.apiUrl, record }, terminal);
  const registry = new Registry(clients.packages, retirement);
  const repository = new Repository(clients.repository, retirement);

  const published = await readPublished(retirement, registry, repository);
  const plan = makePlan(retirement, published, clients);
  progress.plan = plan;
  say(planText(retirement, plan));
  const [obstacle] = plan.obstacles;
  if (obstacle) throw obstacle;
  if (plan.complete) {
    progress.checklist = checklist(retirement, published, options.teamTold);
  } else if (apply) {
    const { component, version, imageTag } = retirement;
    const question = {
      todo: `retire ${component} ${version} for good`,
      word: imageTag,
      otherwise: 'nothing was changed',
    };
    await expectConsent(terminal, question, options.yes, (why) => new RetirementError('not_confirmed', why));
    const askToMark = asking(options);
    const work = { ...wait, retirement, plan, registry, repository, askToMark };
    progress.checklist = await retire(work, options.teamTold, (step) => {
      progress.steps.push(step);
      say(stepText(step));
    });
  } else {
    say('Nothing was changed. Add --apply to carry this out.');
    return;
  }
  say(checklistText(progress.checklist));
  await tellTeam(retirement, options, say);
}

/** Shows what to click, also with `--quiet`, and waits for the person; `undefined` in automation. */
function asking({ terminal, yes }: RetirementRunOptions) {
  const { askShown } = terminal;
  if (yes || !askShown) return undefined;
  return async (instructions: readonly string[]) => {
    for (const line of instructions) terminal.report(`${printable(line)}\n`);
    await askShown('Press Enter when it is done: ');
  };
}

async function tellTeam(retirement: Retirement, options: RetirementRunOptions, say: (text: string) => void) {
  const { terminal, announceFile, teamTold } = options;
  const text = announcement(retirement, terminal.now());
  if (!teamTold) say(`\nTell the team (then --team-told ticks the last point):\n\n${text.trimEnd()}`);
  if (announceFile === undefined) return;
  await writeFile(resolve(terminal.folder, announceFile), text);
  say(`written to ${printable(announceFile)}`);
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
    const status = await stat(path).catch(ifAbsent);
    if (status?.isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' });
    await access(status === undefined ? dirname(path) : path, constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw usageError('--announce-file', `${printable(name)} cannot be written (${code})`);
  }
}

function ifAbsent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
