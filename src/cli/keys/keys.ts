import { counted } from '../../core/text/number.ts';
import { exitCodes } from '../../run/exit-codes.ts';
import { type ApiKey, keyState } from '../../serve/store/api-key.ts';
import { argument, type CommandCode, subcommand } from '../options.ts';
import { json } from '../shared-options.ts';
import { keyRows, keyText, type ShownKey, shownKeyJson } from '../show/keys.ts';
import { tableText } from '../show/table.ts';
import type { Terminal } from '../terminal.ts';
import {
  changeCommand,
  changeOptions,
  createCommand,
  createOptions,
  listOptions,
  revokeOptions,
  rotateCommand,
  rotateOptions,
  usageOptions,
} from './keys-making.ts';
import { usageCommand } from './keys-usage.ts';
import { readingKeys, type StoredKeys, withKey } from './stored-keys.ts';

const name = argument('<name>', 'the name or id of the key', { listedBy: 'keys' });

export const keys: CommandCode = {
  commands: [
    subcommand({
      name: 'create',
      help: 'make a key and print its value, which is shown only once',
      examples: [
        'automate keys create crm',
        'automate keys create crm --flows enrich --scopes run,read --expires 90d',
        'automate keys create shop --rate 60/min --credits 1000 > shop.key',
      ],
      args: { name: argument('<name>', 'a name for the key, 1 to 64 characters') },
      options: createOptions,
      run: ({ args, options, terminal }) => createCommand(args.name, options, terminal),
    }),
    subcommand({
      name: 'list',
      help: 'list the keys with their rights, expiry and last use, but without their values',
      examples: ['automate keys list', 'automate keys list --all --json'],
      options: listOptions,
      run: ({ options, terminal }) => listKeys(options, terminal),
    }),
    subcommand({
      name: 'show',
      help: 'show a key without its value',
      examples: ['automate keys show crm', 'automate keys show crm --json'],
      args: { name },
      options: { json },
      run: ({ args, options, terminal }) => showKey(args.name, options, terminal),
    }),
    subcommand({
      name: 'usage',
      help: 'show what each key did in a month, or what one key did each day',
      examples: ['automate keys usage', 'automate keys usage crm --month 2026-11'],
      args: { name: argument('[name]', 'show only this key, day by day', { listedBy: 'keys' }) },
      options: usageOptions,
      run: ({ args, options, terminal }) => usageCommand(args.name, options, terminal),
    }),
    subcommand({
      name: 'change',
      help: 'change the limits of a key, but not its value; this takes effect at once, even on a running server',
      examples: ['automate keys change crm --credits 5000', 'automate keys change crm --credits unlimited --expires 90d'],
      args: { name },
      options: changeOptions,
      run: ({ args, options, terminal }) => changeCommand(args.name, options, terminal),
    }),
    subcommand({
      name: 'rotate',
      help: 'give a key a new value and print it; the old value still works for a while',
      examples: ['automate keys rotate crm', 'automate keys rotate crm --overlap 7d'],
      args: { name },
      options: rotateOptions,
      run: ({ args, options, terminal }) => rotateCommand(args.name, options, terminal),
    }),
    subcommand({
      name: 'revoke',
      help: 'make a key invalid, at once and permanently',
      examples: ['automate keys revoke crm', 'automate keys revoke crm --stop-runs'],
      args: { name },
      options: revokeOptions,
      run: ({ args, options, terminal }) => revokeCommand(args.name, options, terminal),
    }),
  ],
};

async function listKeys(options: { readonly all?: boolean; readonly json?: boolean }, terminal: Terminal): Promise<number> {
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

async function showKey(name: string, { json }: { readonly json?: boolean }, terminal: Terminal): Promise<number> {
  const [shown] = withKey(name, (stored) => shownKeys(stored, [stored.keys.find(name)])) as [ShownKey];
  await terminal.print(json ? JSON.stringify(shownKeyJson(shown, Date.now()), null, 2) : keyText(shown, Date.now()));
  return exitCodes.success;
}

async function revokeCommand(name: string, { stopRuns = false }: { readonly stopRuns?: boolean }, terminal: Terminal): Promise<number> {
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
