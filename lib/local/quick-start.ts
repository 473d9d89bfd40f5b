import type { ClientFiles } from './client-files.ts';

/** What the commands depend on. */
export interface QuickStart {
  readonly files: ClientFiles;
  /** `undefined`: it is the one that the operator's tool looks for by itself. */
  readonly connectionPath: string | undefined;
  readonly admin: string;
  /** A dataset that is released already, with files. */
  readonly released: string | undefined;
  readonly hasKey: boolean;
}

/** Shell commands from a new dataset to a decrypted file; each line that begins with two spaces is one. */
export function quickStart({ files, connectionPath, admin, released, hasKey }: QuickStart): string {
  const { configPath, adminPasswordPath, visaPath, privateKeyPath, publicKeyPath, downloadsDir } = files;
  const dataset = quoted(released ?? 'EGAD00000000001');
  const paragraphs: readonly (readonly string[])[] = [
    [
      'Try it in another terminal, in this folder:',
      ...(connectionPath === undefined ? [] : [`export DATA_OUT_CONNECTION=${quoted(connectionPath)}`]),
      `export DATA_OUT_CONFIG=${quoted(configPath)}`,
      `export DATA_OUT_ADMIN_USERNAME=${quoted(admin)} DATA_OUT_ADMIN_PASSWORD_FILE=${quoted(adminPasswordPath)}`,
    ],
    [
      released === undefined
        ? 'As the operator, archive a file, release its dataset and issue a visa:'
        : 'As the operator, issue a visa for a dataset that is released:',
      ...(released === undefined
        ? [`npx data-out-ops archive add README.md --dataset ${dataset}`, `npx data-out-ops dataset release ${dataset}`]
        : []),
      `npx data-out-ops visa issue --subject researcher --dataset ${dataset} > ${quoted(visaPath)}`,
    ],
    hasKey
      ? []
      : [
          'As the researcher, make a key pair:',
          `npx data-out keys generate ${quoted(privateKeyPath.replace(/\.sec\.pem$/, ''))} --no-passphrase`,
        ],
    [
      "As an administrator, export the dataset to the researcher's key, and wait until it is complete:",
      `npx data-out export ${dataset} --visa ${quoted(visaPath)} --public-key ${quoted(publicKeyPath)} --wait`,
    ],
    [
      'As the researcher, list, download, verify and decrypt it:',
      'npx data-out list',
      `npx data-out download --all --overwrite -o ${quoted(downloadsDir)}`,
      `npx data-out verify ${quoted(downloadsDir)}`,
      `for file in ${quoted(downloadsDir)}/*.c4gh; do npx data-out decrypt --force "$file"; done`,
    ],
    [
      'Or list the files in the archive and fetch one without an export (npx data-out fetch FILE_ID):',
      `npx data-out files ${dataset}`,
    ],
  ];
  return paragraphs
    .filter(({ length }) => length > 0)
    .map(([title, ...commands]) => `${title}\n\n${commands.map((command) => `  ${command}\n`).join('')}`)
    .join('\n');
}

/** A word of a POSIX shell. */
function quoted(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
