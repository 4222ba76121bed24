import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { homeFolder } from '../../files/home.ts';
import { exitCodes } from '../../run/exit-codes.ts';
import { keyChanges, keySettings, overlapOf } from '../../serve/keys/key-settings.ts';
import { apiKeyJson } from '../../serve/store/api-key.ts';
import type { MadeKey } from '../../serve/store/keys.ts';
import { lastServer } from '../../serve/store/links.ts';
import { listArgument, wholeNumber } from '../arguments.ts';
import { flag, parsedOption, textOption, type ValuesOf } from '../options.ts';
import { json } from '../shared-options.ts';
import { momentText, rightsText } from '../show/keys.ts';
import type { Terminal } from '../terminal.ts';
import { withKey, withKeys } from './stored-keys.ts';

const scopeChoices = async () => (await import('../../serve/store/api-key.ts')).scopes;

export const createOptions = {
  expires: textOption(
    '--expires <when>',
    'when the key expires: a duration such as 90d, a day such as 2030-12-31, or a time in RFC 3339 (default: never)',
  ),
  flows: parsedOption('--flows <names>', listArgument, 'the flows that the key can use, such as enrich,geocode (default: all)'),
  scopes: parsedOption('--scopes <names>', listArgument, 'the rights of the key: run, test and read, such as run,read (default: run)', {
    choices: scopeChoices,
  }),
  rate: textOption('--rate <rate>', 'maximum rate of requests, such as 10/s (default: 600/min)'),
  credits: parsedOption(
    '--credits <n>',
    wholeNumber(0),
    'how many credits the key can spend in a calendar month (default: no limit for this key)',
  ),
  json,
};

type CreateOptions = ValuesOf<typeof createOptions>;

/** The parser also accepts the word that removes the limit, and returns it unchanged. */
function orLifted<Word extends string, Value>(word: Word, read: (text: string) => Value): (text: string) => Value | Word {
  return (text) => (text === word ? word : read(text));
}

export const changeOptions = {
  credits: parsedOption(
    '--credits <n>',
    orLifted('unlimited', wholeNumber(0)),
    'how many credits the key can spend in a calendar month, or unlimited',
  ),
  rate: textOption('--rate <rate>', 'maximum rate of requests, such as 600/min'),
  expires: textOption('--expires <when>', 'when the key expires: a duration, a day or a time, as for keys create, or never'),
  flows: parsedOption('--flows <names>', orLifted('all', listArgument), 'the flows that the key can use, such as enrich,geocode, or all'),
  json,
};

type ChangeOptions = ValuesOf<typeof changeOptions>;

export const rotateOptions = {
  overlap: textOption('--overlap <duration>', 'how long the old value still works, from 0 to 7d (default: 24h)'),
  json,
};

type RotateOptions = ValuesOf<typeof rotateOptions>;

export const revokeOptions = { stopRuns: flag('--stop-runs', 'stop all runs that the key has started') };

export const listOptions = { all: flag('--all', 'include revoked and expired keys'), json };

export const usageOptions = {
  month: textOption('--month <month>', 'the month to show, such as 2026-11, in UTC (default: this month)'),
  json,
};

export async function createCommand(name: string, options: CreateOptions, terminal: Terminal): Promise<number> {
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
  warnOfFlows(settings.flows ?? [], terminal);
  return exitCodes.success;
}

/** The old value stays valid for a while. */
export async function rotateCommand(name: string, options: RotateOptions, terminal: Terminal): Promise<number> {
  const overlapMs = overlapOf(options.overlap);
  const made = withKey(name, ({ keys }) => keys.rotate(name, overlapMs));
  await printValue(made, options, terminal);
  const [old] = made.key.replaced;
  const until = overlapMs === 0 ? 'is no longer valid' : `stays valid until ${momentText(old?.endsAtMs)}`;
  terminal.say(`the key "${made.key.name}" has a new value; the old one (${old?.start}…) ${until}`);
  sayOnce(terminal);
  return exitCodes.success;
}

export async function changeCommand(name: string, options: ChangeOptions, terminal: Terminal): Promise<number> {
  const { credits, expires, flows, rate, json } = options;
  const changes = keyChanges({
    credits: credits === 'unlimited' ? null : credits,
    expires: expires === 'never' ? null : expires,
    flows: flows === 'all' ? null : flows,
    rate,
  });
  const key = withKey(name, ({ keys }) => keys.change(name, changes));
  if (json) await terminal.print(JSON.stringify(apiKeyJson(key), null, 2));
  terminal.say(`the key "${key.name}" now ${rightsText(key)}`);
  warnOfFlows(changes.flows ?? [], terminal);
  return exitCodes.success;
}

function printValue({ key, value }: MadeKey, { json }: { readonly json?: boolean }, terminal: Terminal): Promise<void> {
  return terminal.print(json ? JSON.stringify(apiKeyJson(key, value), null, 2) : value);
}

function sayOnce(terminal: Terminal): void {
  terminal.say('its value is shown only once and is not stored: put it where your program can read it');
}

/** Warns about flows outside the server's folder. If no server was ever started, checks the current folder. */
function warnOfFlows(flows: readonly string[], { warn }: Terminal): void {
  const server = lastServer(homeFolder(process.env));
  const folder = resolve(server?.folder ?? '.');
  const missing = flows.filter((flow) => !['.yaml', '.yml'].some((end) => existsSync(join(folder, flow + end))));
  const where = server ? `${folder}, which the server serves` : 'this folder';
  const advice = server ? '' : '\nto have its name checked, run this in the folder of the flows';
  for (const flow of missing) warn(`there is no flow "${flow}" in ${where}: the key can use it as soon as the server has it${advice}`);
}
