import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import playwright, {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Locator,
  type Page,
} from '../../.ci/browser/node_modules/playwright-core/index.js';
import { Service } from '../helpers/service.ts';

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

/** One for the suite: its files share a process. */
let browser: Promise<Browser> | undefined;

function theBrowser(): Promise<Browser> {
  const { CHROMIUM: executablePath } = process.env;
  if (!executablePath) throw new Error('CHROMIUM does not name a browser: start this suite with .ci/browser/run');
  browser ??= playwright.chromium.launch({ executablePath, args: ['--disable-lcd-text'] });
  return browser;
}

/** For a process that continues without the browser. */
export async function closeBrowser(): Promise<void> {
  await (await browser)?.close();
}

/** What a tab did that its user did not see. */
export interface Traces {
  /** URLs of all requests. */
  readonly requests: string[];
  /** `alert` and its like. */
  readonly dialogs: string[];
  /** Errors of scripts, and violations of the Content-Security-Policy. */
  readonly errors: string[];
}

/** A new browser profile with one tab. */
export class Tab {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly traces: Traces = { requests: [], dialogs: [], errors: [] };

  private constructor(context: BrowserContext, page: Page) {
    this.context = context;
    this.page = page;
    page.on('request', (request) => this.traces.requests.push(request.url()));
    page.on('dialog', (dialog) => {
      this.traces.dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    page.on('pageerror', (error) => this.traces.errors.push(String(error)));
    page.on('console', (message) => {
      const text = message.text();
      // A refused or failed request is not a fault of the page.
      if (message.type() === 'error' && !text.startsWith('Failed to load resource')) this.traces.errors.push(text);
    });
  }

  /** @param credentials what the user types when the browser asks; without them the user cancels */
  static async open(credentials?: Credentials, options: BrowserContextOptions = {}): Promise<Tab> {
    const context = await (await theBrowser()).newContext({
      ...options,
      ...(credentials && { httpCredentials: { ...credentials } }),
    });
    return new Tab(context, await context.newPage());
  }

  get table(): Locator {
    return this.page.getByRole('table', { name: 'Exports', exact: true });
  }

  /** One for each export that is shown, without what it opens into. */
  get rows(): Locator {
    return this.table.locator('> tbody > tr').filter({ has: this.page.locator('> th > button') });
  }

  /** Opens and closes the row of a dataset or file. */
  button(name: string): Locator {
    return this.table.getByRole('button', { name, exact: true });
  }

  alert(text: string | RegExp): Locator {
    return this.page.getByRole('alert').filter({ hasText: text });
  }

  get form(): Locator {
    return this.page.getByRole('region', { name: 'New export', exact: true });
  }

  field(name: string): Locator {
    return this.form.getByLabel(name, { exact: true });
  }

  async press(name: string): Promise<void> {
    await this.form.getByRole('button', { name, exact: true }).click();
  }

  async close(): Promise<void> {
    await this.context.close();
  }
}

/** The service with the administrators' page, and the tabs that a test has opened. */
export class World {
  readonly service: Service;
  readonly #tabs: Tab[] = [];

  constructor(service: Service) {
    this.service = service;
  }

  static async shared(): Promise<World> {
    return new World(await Service.shared());
  }

  get url(): string {
    return this.service.url('admin');
  }

  async open(credentials?: Credentials, options?: BrowserContextOptions): Promise<Tab> {
    const tab = await Tab.open(credentials, options);
    this.#tabs.push(tab);
    return tab;
  }

  /** The page, as an administrator who has signed in. */
  async signIn(options?: BrowserContextOptions): Promise<Tab> {
    const tab = await this.open(this.service.connection.admin, options);
    await tab.page.goto(this.url);
    // The table is filled.
    await tab.page.getByText(/^as of /).waitFor();
    return tab;
  }

  async closeTabs(): Promise<void> {
    await Promise.all(this.#tabs.splice(0).map((tab) => tab.close()));
  }
}

/** A web site of another origin with one page. */
export class OtherSite {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(html: string): Promise<OtherSite> {
    const server = createServer((_, response) => {
      response.setHeader('Content-Type', 'text/html; charset=utf-8');
      response.end(html);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new OtherSite(server);
  }

  /** `localhost` is another site than `127.0.0.1`, under which the service is called. */
  url(host: 'localhost' | '127.0.0.1' = 'localhost'): string {
    return `http://${host}:${(this.#server.address() as AddressInfo).port}/`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
