import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { adminPageContext, defaultsContext } from '../../contract/synth.ts';
import { EngineError } from '../errors.ts';

export interface SynthesisOptions {
  /** Receives what a synth says, as it comes. @default - nothing */
  readonly onOutput?: (text: string) => void;
  /** Ends it. */
  readonly signal?: AbortSignal;
}

/**
 * Runs `cdk synth` on a source tree, into a folder. All that it says is in the `synth.log` of that folder.
 *
 * @param options.patienceMs how long to wait for a synth of another process
 * @throws EngineError with what stopped it
 */
export async function synthesize(
  root: string,
  output: string,
  options: SynthesisOptions & { readonly patienceMs: number },
): Promise<void> {
  const log = join(output, 'synth.log');
  const giveUp = Date.now() + options.patienceMs;
  for (;;) {
    const { exitCode, said } = await runCdk(root, output, options);
    writeFileSync(log, said);
    if (exitCode === 0) return;
    // Of a process that was killed and left its synth running.
    if (!said.includes('currently synthing') || Date.now() > giveUp) {
      throw new EngineError(`The synth of the template failed: ${causeIn(said)}\nAll that it said is in ${log}.`);
    }
    await pause(500, undefined, { signal: options.signal });
  }
}

async function runCdk(root: string, output: string, { signal, onOutput }: SynthesisOptions) {
  const argv = [
    ...['synth', '--quiet', '--no-notices', '--no-version-reporting'],
    ...['--output', output, '--context', `${defaultsContext}=true`, '--context', `${adminPageContext}=true`],
  ];
  // `cdk.json` starts `node`: the pinned one, also when npm did not start this process.
  const searchPath = [join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter);
  const child = spawn(process.execPath, [join(root, 'node_modules/aws-cdk/bin/cdk'), ...argv], {
    cwd: root,
    // The deployed templates are validated, by `npm run synth` and `cdk deploy`.
    env: { ...process.env, PATH: searchPath, CDK_VALIDATION: 'false' },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(signal && { signal }),
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      onOutput?.(text);
    });
  }
  const [exitCode] = (await once(child, 'close')) as [number | null];
  return { exitCode, said };
}

/** The first error that a failed synth names, with the indented lines below it; otherwise its last lines. */
function causeIn(said: string): string {
  // Node shows the place above the error, with the line between them.
  const [, place, wrong] = /^file:\/\/(.*)\n(?:.*\n){1,6}?SyntaxError(?: \[\w+\])?: (.*)/m.exec(said) ?? [];
  if (place !== undefined) return `${place}: ${wrong}`;
  const [named] = /^.*(?:Error(?: \[\w+\])?: |\[ERROR\] ).*(?:\n(?:[ \t]+(?![ \t]*at ).*)?)*/m.exec(said) ?? [];
  const cause = named ?? said.trim().split('\n').slice(-5).join('\n');
  return cause.trim().replace(/^(?:Error(?: \[\w+\])?: |✘ \[ERROR\] )/, '');
}
