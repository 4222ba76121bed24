import { durationText } from '../core/duration.ts';
import type { CodedMessage } from '../core/error-code.ts';
import { AutomateError } from '../core/failure.ts';
import { type BackendName, backendNames } from '../credentials/backend.ts';
import { type CredentialStore, openCredentials } from '../credentials/credential-store.ts';
import { variableWith } from '../credentials/environment.ts';
import { hide, missingCredential } from '../credentials/flow-secrets.ts';
import { expiryWarning, type Finding, isInBackend, type Secret } from '../credentials/secret.ts';
import { onOneLine } from '../records/errors-file.ts';
import { exitCodes } from '../run/exit-codes.ts';
import { envWords, messageWithAdvice } from './advice.ts';
import { tryCommand } from './credentials-set.ts';
import { credentialJson, credentialRows, credentialText, type ShownCredential, shownCredentials } from './show/credentials.ts';
import { tableText } from './show/table.ts';
import { indentedJson, type Terminal } from './terminal.ts';

interface CredentialOptions {
  readonly env?: string;
  readonly json?: boolean;
}

/** Never prints a secret. */
export async function listCredentials(name: string | undefined, options: CredentialOptions, terminal: Terminal): Promise<undefined> {
  const store = openCredentials(options.env, terminal);
  const shown = shownCredentials(store.list(), process.env).filter(
    (credential) => (name === undefined || credential.name === name) && (options.env === undefined || credential.env === options.env),
  );
  if (options.json) await terminal.print(indentedJson(shown.map(credentialJson)));
  else if (shown.length > 0) await terminal.print(tableText(credentialRows(shown, Date.now())).join('\n'));
  else terminal.say(emptyText(name, options.env, store));
}

function emptyText(name: string | undefined, env: string | undefined, store: CredentialStore): string {
  const what = name === undefined ? 'there are no credentials' : `there is no credential "${name}"`;
  const others = store.list().length;
  const rest =
    others === 0 ? `store one: automate credentials set ${name ?? 'NAME'}${envWords(env)}` : `there are others: automate credentials list`;
  return `${what}${env === undefined ? ' here' : ` for --env ${env}`}\n  ${rest}`;
}

export async function showCredential(name: string, options: CredentialOptions, terminal: Terminal): Promise<undefined> {
  const store = openCredentials(options.env, terminal);
  const shown = findShown(name, store);
  await terminal.print(options.json ? indentedJson(credentialJson(shown)) : credentialText(shown, Date.now()));
}

function findShown(name: string, store: CredentialStore): ShownCredential {
  const all = shownCredentials(store.list(), process.env).filter((credential) => credential.name === name);
  const shown = all.find(({ env }) => env === undefined) ?? all.find(({ env }) => env === store.env);
  if (shown) return shown;
  const elsewhere = all.map(({ env }) => `--env ${env}`).join(', ');
  const hint = elsewhere === '' ? `store it: automate credentials set ${name}${envWords(store.env)}` : `it is stored for ${elsewhere}`;
  throw new AutomateError('credential', `there is no credential "${name}"\n${hint}`);
}

export async function removeCommand(
  name: string,
  options: CredentialOptions & { force?: boolean },
  terminal: Terminal,
): Promise<undefined> {
  const store = openCredentials(options.env, terminal);
  const isRemoved = await store.remove(name, options.force ?? false);
  terminal.say(
    isRemoved
      ? `"${name}" is removed`
      : `"${name}" is removed from the list, but its secret is still in its backend, which could not be reached`,
  );
  const variable = variableWith(name, process.env);
  if (variable !== undefined) terminal.warn(`${variable} is still set, and flows still use it`);
}

export async function restoreCommand(name: string, options: CredentialOptions, terminal: Terminal): Promise<undefined> {
  const { setAt } = await openCredentials(options.env, terminal).restore(name);
  terminal.say(`restored "${name}" to the secret that was set on ${setAt.slice(0, 16).replace('T', ' at ')} UTC`);
}

export async function checkCommand(name: string | undefined, options: CredentialOptions, terminal: Terminal): Promise<number> {
  const store = openCredentials(options.env, terminal);
  const names = name === undefined ? namesOf(store) : [name];
  if (names.length === 0) terminal.say(emptyText(undefined, options.env, store));
  const found = await store.find(names);
  let isWrong = false;
  for (const checked of names) {
    const finding = await checkedFinding(found.get(checked) ?? { problem: missingCredential(checked, store) }, terminal);
    if ('problem' in finding) {
      isWrong = true;
      terminal.say(`${terminal.colors.red('problem:')} ${messageWithAdvice(finding.problem).replaceAll('\n', '\n  ')}`);
    } else {
      const { hosts, expiresAt } = finding.limits;
      const only = hosts === undefined ? '' : `, for ${hosts.join(', ')} only`;
      await terminal.print(`${checked}: ${finding.found}${only}`);
      const warning = expiryWarning(checked, expiresAt, Date.now());
      if (warning !== undefined) terminal.warn(warning);
    }
  }
  return isWrong ? exitCodes.credential : exitCodes.success;
}

type CheckedFinding = { readonly problem: CodedMessage } | { readonly found: string; readonly limits: Pick<Secret, 'hosts' | 'expiresAt'> };

/** If a command prints the secret, runs the command. */
async function checkedFinding(finding: Finding, terminal: Terminal): Promise<CheckedFinding> {
  if ('problem' in finding) return finding;
  if ('command' in finding) {
    const tried = await tryCommand(finding.command, terminal);
    return 'problem' in tried ? tried : { found: `its command printed a secret in ${durationText(tried.ms)}`, limits: finding.command };
  }
  hide(finding.secret.text, terminal);
  return { found: `found in ${finding.secret.from}`, limits: finding.secret };
}

function namesOf(store: CredentialStore): string[] {
  const shown = shownCredentials(store.list(), process.env).filter(({ env }) => env === undefined || env === store.env);
  return [...new Set(shown.map(({ name }) => name))];
}

/** Prints which backend (keychain or vault) stores secrets, and why others are not available. */
export async function backendCommand(name: string | undefined, options: CredentialOptions, terminal: Terminal): Promise<undefined> {
  const store = openCredentials(options.env, terminal);
  const present = store.list().find((stored) => stored.name === name && stored.env === store.env && isInBackend(stored))?.backend;
  const problems = new Map<BackendName, string | undefined>();
  for (const backend of backendNames) problems.set(backend, await store.backends[backend].problem());
  const usable = backendNames.filter((backend) => problems.get(backend) === undefined);
  const active = present && usable.includes(present) ? present : usable[0];
  const variables = shownCredentials([], process.env).map(({ from }) => from);
  const given = name === undefined ? variables : [variableWith(name, process.env)].filter((variable) => variable !== undefined);
  const lines = [
    {
      backend: 'environment',
      state: 'read first',
      detail: given.length > 0 ? given.join(', ') : 'no AUTOMATE_CREDENTIAL_... variable is set',
    },
    ...backendNames.map((backend) => ({
      backend,
      state: backend === active ? 'active' : problems.get(backend) === undefined ? 'available' : 'unavailable',
      detail: problems.get(backend) ?? (backend === 'vault' ? store.backends.vault.path : "the operating system's"),
    })),
  ];
  if (options.json) await terminal.print(indentedJson(lines));
  else await terminal.print(tableText(lines.map(({ backend, state, detail }) => [backend, state, onOneLine(detail)])).join('\n'));
  if (active === undefined) terminal.say('secrets cannot be stored here; pass them to flows in AUTOMATE_CREDENTIAL_... variables');
}
