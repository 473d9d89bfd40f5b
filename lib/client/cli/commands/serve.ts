import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { usageError } from '../../../terminal/errors.ts';
import { failureOf } from '../../../terminal/failure.ts';
import { printable } from '../../../terminal/output.ts';
import { isFolder } from '../../api/download/disk/local-disk.ts';
import { ClientError } from '../../api/errors.ts';
import { connectionOwner } from '../../serve/connection-owner.ts';
import { type Find, folderBelow } from '../../serve/folder.ts';
import { serve } from '../../serve/server.ts';
import { clientFailure } from '../failure.ts';
import { readPrivateKeys } from '../key-files.ts';
import { collect, parseCount, withKeyOptions } from '../options.ts';
import { type CommandContext, openSession, type Session } from '../session.ts';

const afterHelp = `
Tools on this machine read the .c4gh files of FOLDER decrypted, at the printed address, under their names without .c4gh.
With --plain the other files of FOLDER are shown as they are, so that tools find an index beside its file. No plaintext is
written to the disk. Ctrl-C ends it.

The address contains a secret that is new at each start, so keep it to yourself. Only this machine can connect, and on Linux
only you.

Examples:
  data-out serve data --key me.sec.pem
  data-out serve data --key me.sec.pem --plain --port 8080
  data-out serve data --key me.sec.pem --allow-origin https://igv.org`;

/** `serve <folder>`: the containers of a folder, decrypted, as plain HTTP on this machine. */
export function registerServe(program: Command, context: CommandContext): void {
  const serving = program
    .command('serve')
    .description('show a folder decrypted to tools on this machine, over HTTP')
    .argument('<folder>', 'a folder of .c4gh files')
    .option('--plain', 'also show files that are not containers, as they are')
    .option('--port <n>', 'port on 127.0.0.1; 0: a free one', '0')
    .option('--allow-origin <origin>', 'web pages that may read, such as https://igv.org; repeatable', collect);
  withKeyOptions(serving)
    .addHelpText('after', afterHelp)
    .action(async (folder, { plain = false, port: text, allowOrigin = [] }, command) => {
      const port = parseCount('--port', text, { from: 0, to: 65_535 });
      const origins = allowOrigin.map(checkedOrigin);
      await using session = await openSession(context, command);
      const { output, terminal } = session;
      const { signal } = terminal;
      // Other systems reveal the owner of a connection only to privileged processes.
      const ownerOf = process.platform === 'linux' ? connectionOwner : undefined;
      const risk = 'other users of this machine can read, if they learn the address';
      if (!ownerOf) output.warn(`this system does not reveal who connects: ${risk}`);
      let last = '';
      const served = await serve({
        port,
        find: await folderOf(session, folder, plain),
        admission: { token: randomBytes(24).toString('base64url'), origins, ownerOf, user: process.getuid?.() ?? -1 },
        failureOf: (error) => failureOf(error, clientFailure),
        failed: (path, { code, message }) => {
          // Tools repeat their requests, so each warning is shown once.
          if (last !== `${code} ${path}`) output.warn(printable(`${path}: ${message}`));
          last = `${code} ${path}`;
        },
      }).catch((error: unknown) => {
        throw (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
          ? usageError('--port', `${port} is in use on this machine`, 'Choose another port, or omit --port.')
          : error;
      });
      output.result({ url: served.url, port: served.port }, served.url);
      output.note('Keep this address to yourself. Ctrl-C ends it.');
      if (!signal.aborted) await once(signal, 'abort');
      await served.close();
    });
}

/** @throws UsageError, ClientError */
async function folderOf(session: Session, folder: string, plain: boolean): Promise<Find> {
  const root = resolve(session.terminal.folder, folder);
  if (!(await isFolder(root))) throw new ClientError('not_found', `there is no folder ${printable(folder)}`);
  const { raw: privateKeys } = await readPrivateKeys(session);
  return folderBelow(root, { privateKeys, plain });
}

function checkedOrigin(text: string): string {
  if (URL.canParse(text) && new URL(text).origin === text && text !== 'null') return text;
  const form = 'expected an origin as browsers send it: https://igv.org, with a port if it has one';
  throw usageError('--allow-origin', form);
}
