import { operatorFiles } from '../../contract/synth.ts';
import { checkSettings, SettingsError } from '../../infra/check-settings.ts';
import type { Settings } from '../../infra/settings.ts';
import { parseTrustedIssuers, smokeIssuerFault, TrustedIssuersError } from '../../visas/index.ts';
import type { PreflightResult } from './outcome.ts';

/** Oldest Node.js that runs the project's commands. */
const nodeMajor = 24;

/** What can be checked without an account. */
export interface LocalInputs {
  readonly settings: Settings;
  /** Text of the trust list. */
  readonly issuers: string;
  /** The operator's files that do not exist. The defaults are checked instead. */
  readonly missing: readonly string[];
  readonly nodeVersion: string;
}

export function checkOffline({ settings, issuers, missing, nodeVersion }: LocalInputs): readonly PreflightResult[] {
  const written = [checkedSettings(settings), checkedIssuers(settings, issuers)];
  return [
    ...written.map((result) => (missing.includes(result.check) ? absent(result) : result)),
    checkedNode(nodeVersion),
  ];
}

/** A deployment without the file is refused. */
function absent({ id, check }: PreflightResult): PreflightResult {
  const remedy = 'Write it before you deploy: docs/operators.md#before-the-first-deployment';
  return { id, check, result: 'look', found: 'there is none, so the defaults were looked at', remedy };
}

function checkedSettings(settings: Settings): PreflightResult {
  const about = { id: 'settings', check: operatorFiles.settings };
  try {
    checkSettings(settings);
    return {
      ...about,
      result: 'fine',
      found: `for ${settings.purpose ?? 'production'}, stage ${settings.stage ?? '(none)'}`,
    };
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const found = error.message
      .split('\n')
      .slice(1)
      .map((line) => line.trim())
      .join('; ');
    return {
      ...about,
      result: 'wrong',
      found,
      remedy: 'Correct these fields: lib/infra/settings.ts has their limits.',
    };
  }
}

function checkedIssuers({ purpose }: Settings, text: string): PreflightResult {
  const about = { id: 'issuers', check: operatorFiles.trustedIssuers };
  const remedy = 'docs/trusted-issuers.md has the form.';
  try {
    const trusted = parseTrustedIssuers(JSON.parse(text));
    const fault = smokeIssuerFault(trusted, purpose);
    if (fault !== undefined) return { ...about, result: 'wrong', found: fault, remedy };
    const names = [...trusted.issuers.keys()];
    if (names.length > 0) return { ...about, result: 'fine', found: names.join(', ') };
    return {
      ...about,
      result: 'look',
      found: 'no issuer: every visa will be refused',
      remedy: 'docs/trusted-issuers.md#add-an-issuer',
    };
  } catch (error) {
    if (!(error instanceof TrustedIssuersError || error instanceof SyntaxError)) throw error;
    return { ...about, result: 'wrong', found: error.message.replaceAll(/\s+/g, ' '), remedy };
  }
}

function checkedNode(version: string): PreflightResult {
  const about = { id: 'node', check: 'Node.js' };
  if (Number.parseInt(version, 10) >= nodeMajor) return { ...about, result: 'fine', found: version };
  const remedy = `Give npm ci: it brings Node.js ${nodeMajor}. Or install a newer one.`;
  return { ...about, result: 'wrong', found: version, remedy };
}
