import type { FreshAssemblyOptions } from './fresh-assembly.ts';

/**
 * Shows a synth in one line. On a terminal the line counts the bundled functions.
 *
 * @param stream standard error
 */
export function synthProgress(
  stream: Pick<NodeJS.WriteStream, 'isTTY' | 'write'>,
): Pick<FreshAssemblyOptions, 'onSynth' | 'onOutput' | 'onSynthEnd'> {
  const line = 'Synthesizing the template, about 10 s';
  let functions = 0;
  if (!stream.isTTY) return { onSynth: () => void stream.write(`${line}.\n`) };
  return {
    onSynth: () => void stream.write(line),
    onOutput(text) {
      functions += text.split('Bundling asset').length - 1;
      if (functions > 0) stream.write(`\r${line}; functions bundled: ${functions}`);
    },
    onSynthEnd: () => void stream.write('\n'),
  };
}
