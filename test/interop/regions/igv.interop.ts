import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { shell } from '../../helpers/genomes.ts';
import { tools } from '../../helpers/region-tools.ts';
import type { RunningServe } from '../../helpers/running-serve.ts';
import { ArchivedGenomes } from './archived-genomes.ts';

/** igv.js in Chromium, on a page with its own origin, draws reads from `data-out serve` and from the service itself. */

/** The track of docs/clients.md. */
const [, ofPage] = /^```js igv\n([\s\S]*?)^```$/m.exec(readFileSync('docs/clients.md', 'utf8')) ?? [];
/** 1-based and inclusive; the reads of 10 kb are drawn whole. */
const region = 'chr1:500001-510000';

describe.skipIf(!tools.chromium || !tools.modules)('igv.js', () => {
  let archived: ArchivedGenomes;
  let served: RunningServe;
  let pages: Server;
  let browser: { newPage(): Promise<Page>; close(): Promise<void> };
  let visa: string;

  beforeAll(async () => {
    archived = await ArchivedGenomes.shared();
    pages = createServer((request, response) => void pageOf(request.url ?? '', response));
    await once(pages.listen(archived.pagePort, '127.0.0.1'), 'listening');
    visa = await archived.service.visa();
    served = await archived.serve('--allow-origin', originOf(pages));
    const { chromium } = await import(`${tools.modules}/playwright-core/index.mjs`);
    browser = await chromium.launch({ executablePath: tools.chromium, args: ['--no-sandbox'] });
  });
  afterAll(async () => {
    await browser?.close();
    pages?.close();
    await served?.end();
  });

  test.each(['bai.bam', 'spanning.bam'])('draws the reads of %s by ranges from serve', async (name) => {
    const url = `${served.url}${name}`;
    expect(await drawn({ url, indexURL: `${url}.bai` })).toEqual(await wanted(name));
  });

  test.each(['bai.bam', 'spanning.bam'])('draws the reads of %s by htsget from the service', async (name) => {
    const track = new Function('DIRECT', 'FILE_ID', 'visa', `return ${ofPage}`);
    const direct = archived.service.connection.dataOutUrl.replace(/\/$/, '');
    expect(await drawn(track(direct, archived.fileId(name), visa))).toEqual(await wanted(name));
  });

  const wanted = async (name: string) =>
    (await shell(archived.folder, `samtools view ${name} ${region} | cut -f 1`)).trim().split('\n').sort();

  /** Names of the reads of a track that lie in the region. */
  async function drawn(track: object): Promise<string[]> {
    const page = await browser.newPage();
    try {
      await page.goto(originOf(pages));
      return (
        await page.evaluate(namesDrawn, {
          track: { type: 'alignment', format: 'bam', name: 'reads', ...track },
          region,
        })
      ).sort();
    } finally {
      await page.close();
    }
  }

  async function pageOf(url: string, response: ServerResponse): Promise<void> {
    if (url === '/igv.js') return void response.end(await readFile(`${tools.modules}/igv/dist/igv.min.js`));
    if (url === '/reference.fa') return void response.end(`>chr1\n${'N'.repeat(1_000_000)}\n`);
    const html = '<!doctype html><title>igv.js</title><div id="igv"></div><script src="/igv.js"></script>';
    response.writeHead(url === '/' ? 200 : 404, { 'Content-Type': 'text/html' }).end(url === '/' ? html : '');
  }
});

interface Page {
  goto(url: string): Promise<unknown>;
  evaluate<Argument, Result>(run: (argument: Argument) => Promise<Result>, argument: Argument): Promise<Result>;
  close(): Promise<void>;
}

const originOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

/** Runs in the page. What is drawn is a canvas that is not blank, of the alignments that the track has read. */
async function namesDrawn({ track, region }: { track: object; region: string }): Promise<string[]> {
  // biome-ignore lint/suspicious/noExplicitAny: igv.js has no types of its views.
  const { document, igv } = globalThis as any;
  const reference = { id: 'test', fastaURL: '/reference.fa', indexed: false };
  const browser = await igv.createBrowser(document.getElementById('igv'), {
    reference,
    locus: region,
    tracks: [track],
  });
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  const [viewport] = browser.trackViews.find((view: any) => view.track.name === 'reads').viewports;
  const { data } = viewport.canvas.getContext('2d').getImageData(0, 0, viewport.canvas.width, viewport.canvas.height);
  if (!data.some((value: number) => value > 0)) return ['the canvas is blank'];
  const [, first, last] = region.split(/[:-]/).map(Number);
  const inRegion = ({ start, lengthOnRef }: { start: number; lengthOnRef: number }) =>
    start < (last ?? 0) && start + lengthOnRef > (first ?? 0) - 1;
  return viewport.featureCache.features
    .allAlignments()
    .filter(inRegion)
    .map(({ readName }: { readName: string }) => readName);
}
