import { failureOf } from '../../terminal/failure.ts';
import { printable } from '../../terminal/output.ts';
import { expectConsent, type Session } from '../commands/session.ts';
import { OpsError, opsFailure } from '../errors.ts';
import { ApiClient, type ApiClientOptions, type CallRecord } from './api-client.ts';
import { makePlan, type Plan } from './plan.ts';
import { Published } from './published.ts';
import type { Retirement } from './request.ts';
import { type StepResult, steps } from './steps.ts';
import { announcement, checklist, planText } from './text.ts';

export interface RetirementRunOptions {
  readonly baseUrl: string;
  readonly tokens: Readonly<Record<'packages' | 'repository', Pick<ApiClientOptions, 'token' | 'tokenName' | 'scope'>>>;
  readonly apply: boolean;
  readonly yes: boolean;
  readonly teamTold: boolean;
}

/** What a run has seen and done so far. It is reported also when the run fails. */
interface Progress {
  plan?: Plan;
  readonly steps: StepResult[];
  checklist?: ReturnType<typeof checklist>;
  announcement?: string;
  readonly calls: CallRecord[];
}

/** Plan one retirement, and with `apply` carry it out. @throws OpsError, UsageError */
export async function runRetirement(retirement: Retirement, session: Session, options: RetirementRunOptions) {
  const { output, terminal } = session;
  const progress: Progress = { steps: [], calls: [] };
  const report = (status: string, error?: object) => {
    const { plan, ...rest } = progress;
    const obstacles = plan?.obstacles.map(({ code, message }) => ({ code, message }));
    output.result({ status, ...retirement, ...(plan && { plan: { ...plan, obstacles } }), ...rest, ...error }, '');
  };
  try {
    await proceed(retirement, session, options, progress);
    if (output.json) report(progress.checklist ? 'complete' : 'planned');
  } catch (error) {
    const { code, message } = failureOf(terminal.signal.aborted ? terminal.signal.reason : error, opsFailure);
    if (output.json && progress.calls.length > 0) report('stopped', { error: { code, message } });
    if (progress.steps.length > 0) output.note('the steps above stay done; the same command resumes after them');
    throw error;
  }
}

async function proceed(
  retirement: Retirement,
  { terminal, timing, output }: Session,
  { baseUrl, tokens, apply, yes, teamTold }: RetirementRunOptions,
  progress: Progress,
): Promise<void> {
  const { component, version, imageTag: word } = retirement;
  // Titles and tags come from the platform.
  const say = (text: string) => {
    const shown = text.split('\n').map(printable).join('\n');
    return output.json ? output.note(shown) : output.result({}, shown);
  };
  const note = (text: string) => output.note(printable(text));
  const { signal } = terminal;
  const record = (call: CallRecord) => void progress.calls.push(call);
  const shared = { baseUrl, timing, signal, note, record, timeoutMs: 30_000 };
  const clients = {
    packages: new ApiClient({ ...shared, ...tokens.packages }),
    repository: new ApiClient({ ...shared, ...tokens.repository }),
  };
  const published = new Published(retirement, clients);
  let state = await published.state();
  const plan = makePlan(retirement, state, clients);
  progress.plan = plan;
  say(planText(retirement, plan));
  const [obstacle] = plan.obstacles;
  if (obstacle) throw obstacle;
  if (!plan.complete) {
    if (!apply) return say('Nothing was changed. Add --apply to carry this out.');
    const question = { todo: `retire ${component} ${version} for good`, word, otherwise: 'nothing was changed' };
    await expectConsent(terminal, question, yes, (why) => new OpsError('not_confirmed', why));
    // A run that stops half-way has told each step that is proven.
    for (const step of steps) {
      const result = await step({ retirement, plan, published, timing, signal, note });
      progress.steps.push(result);
      say(`${result.step.replace('git_tag', 'Git tag')}: ${result.outcome.replace('_', ' ')}: ${result.detail}`);
    }
    // Everything is read once more.
    state = await published.state();
  }
  const points = checklist(retirement, state, teamTold);
  const open = points.find(({ point, done }) => point !== 'team_told' && !done);
  if (open) throw new OpsError('not_proven', `at the end this does not hold: ${open.text}; run again`);
  progress.checklist = points;
  progress.announcement = announcement(retirement, terminal.now());
  say(points.map(({ text, done }) => `[${done ? 'x' : ' '}] ${text}`).join('\n'));
  if (teamTold) return;
  say(`\nTell the team (then --team-told ticks the last point):\n\n${progress.announcement.trimEnd()}`);
}
