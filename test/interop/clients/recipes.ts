import { spawnSync } from 'node:child_process';

/** Commands for one client, as `docs/clients.md` has them. */
export interface Recipe {
  readonly client: string;
  /** Programs, and Python modules as `python3:<module>`. */
  readonly tools: readonly string[];
  /** Program and arguments before the file. */
  readonly command: readonly [string, ...string[]];
  readonly file: string;
  readonly text: string;
  /** Works only where passwords are checked when presented. */
  readonly lenient: boolean;
  /** Works only where S3 is another host than the service. */
  readonly otherHost: boolean;
  /** Downloads by the direct API. */
  readonly direct: boolean;
}

const languages: Readonly<Record<string, Pick<Recipe, 'command' | 'file' | 'tools'>>> = {
  sh: { command: ['bash', '-euo', 'pipefail'], file: 'commands.sh', tools: ['bash'] },
  python: { command: ['python3'], file: 'download.py', tools: ['python3'] },
  java: { command: ['java'], file: 'Download.java', tools: ['java'] },
};

/** Every block before the regions whose language can be run; words after the language say what it needs. */
export function recipesOf(page: string): readonly Recipe[] {
  const [beforeRegions = ''] = page.split(/^## Regions/m);
  return beforeRegions.split(/^## /m).flatMap((section) => {
    const client = section.split('\n', 1)[0] ?? '';
    return [...section.matchAll(/^```(sh|python)(.*)\n([\s\S]*?)^```$/gm)].map(
      ([, language = '', words = '', text = '']) => recipe(client, language, text, words),
    );
  });
}

export function recipe(client: string, language: string, text: string, words = ''): Recipe {
  const { command, file, tools = [] } = languages[language] ?? { command: ['false'], file: '' };
  const programs = language === 'sh' ? text.match(/\b(curl|wget|aria2c|rclone)\b/g) : [];
  const modules = words.includes('requests') ? ['python3:requests'] : [];
  return {
    client,
    command,
    file,
    text,
    tools: [...new Set([...tools, ...(programs ?? []), ...modules])],
    lenient: words.includes('when-presented'),
    otherHost: words.includes('other-host'),
    direct: words.includes('drs'),
  };
}

export function installed(tool: string): boolean {
  const [program = '', module] = tool.split(':');
  const command = module === undefined ? ['bash', '-c', `command -v ${program}`] : [program, '-c', `import ${module}`];
  return spawnSync(command[0] ?? '', command.slice(1)).status === 0;
}
