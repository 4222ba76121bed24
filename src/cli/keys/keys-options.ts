import { listArgument, wholeNumber } from '../arguments.ts';
import { flag, parsedOption, textOption, type ValuesOf } from '../options.ts';
import { json } from '../shared-options.ts';

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

export type CreateOptions = ValuesOf<typeof createOptions>;

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

export type ChangeOptions = ValuesOf<typeof changeOptions>;

export const rotateOptions = {
  overlap: textOption('--overlap <duration>', 'how long the old value still works, from 0 to 7d (default: 24h)'),
  json,
};

export type RotateOptions = ValuesOf<typeof rotateOptions>;

export const revokeOptions = { stopRuns: flag('--stop-runs', 'stop all runs that the key has started') };

export const listOptions = { all: flag('--all', 'include revoked and expired keys'), json };

export const usageOptions = {
  month: textOption('--month <month>', 'the month to show, such as 2026-11, in UTC (default: this month)'),
  json,
};
