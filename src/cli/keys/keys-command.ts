import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { counted } from '../../core/text/number.ts';
import { homeFolder } from '../../files/home.ts';
import { keyChanges, keySettings, overlapOf } from '../../serve/keys/key-settings.ts';
import { type ApiKey, apiKeyJson, keyState } from '../../serve/store/api-key.ts';
import type { MadeKey } from '../../serve/store/keys.ts';
import { lastServer } from '../../serve/store/links.ts';
import { keyRows, keyText, momentText, rightsText, type ShownKey, shownKeyJson } from '../show/keys.ts';
import { tableText } from '../show/table.ts';
import { indentedJson, type Terminal } from '../terminal.ts';
import type { ChangeOptions, CreateOptions, RotateOptions } from './keys-options.ts';
import { readingKeys, type StoredKeys, withKey, withKeys } from './stored-keys.ts';

export async function createCommand(name: string, options: CreateOptions, terminal: Terminal): Promise<undefined> {
  const settings = keySettings(name, options);
  const made = withKeys(({ keys }) => keys.create(settings));
  try {
    await printValue(made, options, terminal);
  } catch (error) {
    // If the key's value could not be printed, nobody knows it, so the key is revoked.
    withKeys(({ keys }) => keys.revoke(made.key.id, { stopRuns: false }));
    throw error;
  }
  terminal.say(`the key "${name}" ${rightsText(made.key)}`);
  sayOnce(terminal);
  warnOfFlows(settings.flows ?? [], 'the key can use it', terminal);
}

/** The old value stays valid for a while. */
export async function rotateCommand(name: string, options: RotateOptions, terminal: Terminal): Promise<undefined> {
  const overlapMs = overlapOf(options.overlap);
  const made = withKey(name, ({ keys }) => keys.rotate(name, overlapMs));
  await printValue(made, options, terminal);
  const [old] = made.key.replaced;
  const until = overlapMs === 0 ? 'is no longer valid' : `stays valid until ${momentText(old?.endsAtMs)}`;
  terminal.say(`the key "${made.key.name}" has a new value; the old one (${old?.start}…) ${until}`);
  sayOnce(terminal);
}

export async function changeCommand(name: string, options: ChangeOptions, terminal: Terminal): Promise<undefined> {
  const { credits, expires, flows, rate, json } = options;
  const changes = keyChanges({
    credits: credits === 'unlimited' ? null : credits,
    expires: expires === 'never' ? null : expires,
    flows: flows === 'all' ? null : flows,
    rate,
  });
  const key = withKey(name, ({ keys }) => keys.change(name, changes));
  if (json) await terminal.print(indentedJson(apiKeyJson(key)));
  terminal.say(`the key "${key.name}" now ${rightsText(key)}`);
  warnOfFlows(changes.flows ?? [], 'the key can use it', terminal);
}

function printValue({ key, value }: MadeKey, { json }: { readonly json?: boolean }, terminal: Terminal): Promise<void> {
  return terminal.print(json ? indentedJson(apiKeyJson(key, value)) : value);
}

function sayOnce(terminal: Terminal): void {
  terminal.say('its value is shown only once and is not stored: put it where your program can read it');
}

/** Warns about flows outside the server's folder. If no server was ever started, checks the current folder. `later` happens once it has them. */
export function warnOfFlows(flows: readonly string[], later: string, { warn }: Terminal): void {
  const server = lastServer(homeFolder(process.env));
  const folder = resolve(server?.folder ?? '.');
  const missing = flows.filter((flow) => !['.yaml', '.yml'].some((end) => existsSync(join(folder, flow + end))));
  const where = server ? `${folder}, which the server serves` : 'this folder';
  const advice = server ? '' : '\nto have its name checked, run this in the folder of the flows';
  for (const flow of missing) warn(`there is no flow "${flow}" in ${where}: ${later} as soon as the server has it${advice}`);
}

export async function listKeys(options: { readonly all?: boolean; readonly json?: boolean }, terminal: Terminal): Promise<undefined> {
  const nowMs = Date.now();
  const all = readingKeys((stored) => shownKeys(stored, stored.keys.list())) ?? [];
  const shown = options.all ? all : all.filter(({ key }) => keyState(key, nowMs) === 'living');
  if (options.json) await terminal.print(indentedJson(shown.map((key) => shownKeyJson(key, nowMs))));
  else if (shown.length > 0) await terminal.print(tableText(keyRows(shown, { nowMs, withState: options.all ?? false })).join('\n'));
  else terminal.say(emptyText(all.length));
}

function emptyText(ended: number): string {
  const others = ended > 0 ? `; ${counted(ended, 'expired or revoked key')}: automate keys list --all` : '';
  return `there are no keys${others}\n  make one: automate keys create NAME`;
}

export async function showKey(name: string, { json }: { readonly json?: boolean }, terminal: Terminal): Promise<undefined> {
  const [shown] = withKey(name, (stored) => shownKeys(stored, [stored.keys.find(name)])) as [ShownKey];
  await terminal.print(json ? indentedJson(shownKeyJson(shown, Date.now())) : keyText(shown, Date.now()));
}

export async function revokeCommand(
  name: string,
  { stopRuns = false }: { readonly stopRuns?: boolean },
  terminal: Terminal,
): Promise<undefined> {
  const { key, isNew } = withKey(name, ({ keys }) => keys.revoke(name, { stopRuns }));
  const runs = key.stopsRuns
    ? 'the server stops the runs that the key has started'
    : 'runs that the key has started continue (--stop-runs stops them)';
  terminal.say(`the key "${key.name}" (${key.start}…) ${isNew ? 'is revoked' : 'was revoked before'}; ${runs}`);
}

function shownKeys({ usage }: StoredKeys, keys: readonly ApiKey[]): ShownKey[] {
  const uses = usage.lastUses();
  return keys.map((key) => ({ key, lastUsedAtMs: uses.get(key.id) }));
}
