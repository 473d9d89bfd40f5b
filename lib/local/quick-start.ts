import type { ClientFiles } from './connection-file.ts';

/** What the commands depend on. */
export interface QuickStart {
  readonly files: ClientFiles;
  /** `undefined`: it is the one that the operator's tool looks for automatically. */
  readonly connectionPath: string | undefined;
  readonly admin: string;
  /** A dataset that is released already, with files. */
  readonly released: string | undefined;
  readonly hasKey: boolean;
}

/** What an operator does first. */
export interface FirstSteps {
  /** Shell commands for the operator's tool. */
  readonly first: readonly string[];
  /** A shell script from a new dataset to a decrypted file. */
  readonly script: string;
}

export function quickStart({ files, connectionPath, admin, released, hasKey }: QuickStart): FirstSteps {
  const { configPath, adminPasswordPath, visaPath, privateKeyPath, publicKeyPath, downloadsDir } = files;
  const dataset = quoted(released ?? 'EGAD00000000001');
  const connection = connectionPath === undefined ? [] : [`export DATA_OUT_CONNECTION=${quoted(connectionPath)}`];
  const issue = `npx data-out-ops visa issue --subject researcher --dataset ${dataset}`;
  const archive =
    released === undefined
      ? [`npx data-out-ops archive add README.md --dataset ${dataset}`, `npx data-out-ops dataset release ${dataset}`]
      : [];
  const paragraphs: readonly (readonly string[])[] = [
    ['Written by npm start, which removes it at its end. In the folder of the project: sh -e FILE'],
    [
      'The settings of the operator, the researcher and the administrator:',
      ...connection,
      `export DATA_OUT_CONFIG=${quoted(configPath)}`,
      `export DATA_OUT_ADMIN_USERNAME=${quoted(admin)} DATA_OUT_ADMIN_PASSWORD_FILE=${quoted(adminPasswordPath)}`,
    ],
    [
      released === undefined
        ? 'As the operator, archive a file, release its dataset and issue a visa:'
        : 'As the operator, issue a visa for a dataset that is released:',
      ...archive,
      `${issue} > ${quoted(visaPath)}`,
    ],
    hasKey
      ? []
      : [
          'As the researcher, make a key pair:',
          `npx data-out keys generate ${quoted(privateKeyPath.replace(/\.sec\.pem$/, ''))} --no-passphrase`,
        ],
    [
      "As an administrator, export the dataset to the researcher's key, and wait until it is complete:",
      `npx data-out admin export ${dataset} --visa ${quoted(visaPath)} --public-key ${quoted(publicKeyPath)} --wait`,
    ],
    [
      'As the researcher, list, download, verify and decrypt it:',
      'npx data-out list',
      `npx data-out download --all --force -o ${quoted(downloadsDir)}`,
      `npx data-out verify ${quoted(downloadsDir)}`,
      `npx data-out decrypt --force ${quoted(downloadsDir)}`,
    ],
  ];
  const script = paragraphs
    .filter(({ length }) => length > 0)
    .map(([title, ...commands]) => [`# ${title}`, ...commands, ''].join('\n'))
    .join('\n');
  return { first: [...connection, archive[0] ?? issue], script };
}

/** A word of a POSIX shell. */
function quoted(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
