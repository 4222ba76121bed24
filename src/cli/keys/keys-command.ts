import { counted } from '../../core/text/number.ts';
import { exitCodes } from '../../run/exit-codes.ts';
import { type ApiKey, keyState } from '../../serve/store/api-key.ts';
import { keyRows, keyText, type ShownKey, shownKeyJson } from '../show/keys.ts';
import { tableText } from '../show/table.ts';
import type { Terminal } from '../terminal.ts';
import { readingKeys, type StoredKeys, withKey } from './stored-keys.ts';

export async function listKeys(options: { readonly all?: boolean; readonly json?: boolean }, terminal: Terminal): Promise<number> {
  const nowMs = Date.now();
  const all = readingKeys((stored) => shownKeys(stored, stored.keys.list())) ?? [];
  const shown = options.all ? all : all.filter(({ key }) => keyState(key, nowMs) === 'living');
  if (options.json)
    await terminal.print(
      JSON.stringify(
        shown.map((key) => shownKeyJson(key, nowMs)),
        null,
        2,
      ),
    );
  else if (shown.length > 0) await terminal.print(tableText(keyRows(shown, { nowMs, withState: options.all ?? false })).join('\n'));
  else terminal.say(emptyText(all.length));
  return exitCodes.success;
}

function emptyText(ended: number): string {
  const others = ended > 0 ? `; ${counted(ended, 'expired or revoked key')}: automate keys list --all` : '';
  return `there are no keys${others}\n  make one: automate keys create NAME`;
}

export async function showKey(name: string, { json }: { readonly json?: boolean }, terminal: Terminal): Promise<number> {
  const [shown] = withKey(name, (stored) => shownKeys(stored, [stored.keys.find(name)])) as [ShownKey];
  await terminal.print(json ? JSON.stringify(shownKeyJson(shown, Date.now()), null, 2) : keyText(shown, Date.now()));
  return exitCodes.success;
}

export async function revokeCommand(
  name: string,
  { stopRuns = false }: { readonly stopRuns?: boolean },
  terminal: Terminal,
): Promise<number> {
  const { key, isNew } = withKey(name, ({ keys }) => keys.revoke(name, { stopRuns }));
  const runs = key.stopsRuns
    ? 'the server stops the runs that the key has started'
    : 'runs that the key has started continue (--stop-runs stops them)';
  terminal.say(`the key "${key.name}" (${key.start}…) ${isNew ? 'is revoked' : 'was revoked before'}; ${runs}`);
  return exitCodes.success;
}

function shownKeys({ usage }: StoredKeys, keys: readonly ApiKey[]): ShownKey[] {
  const uses = usage.lastUses();
  return keys.map((key) => ({ key, lastUsedAtMs: uses.get(key.id) }));
}
