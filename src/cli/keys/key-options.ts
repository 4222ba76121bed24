import { listArgument, wholeNumber } from '../arguments.ts';
import { flag, parsedOption, textOption, type ValuesOf } from '../options.ts';
import { json } from '../shared-options.ts';

const scopeChoices = async () => (await import('../../io/server/api-key.ts')).scopes;

/** The options of `automate keys create`. */
export const createOptions = {
  expires: textOption('--expires <when>', 'when it expires: a duration such as 90d, a day, or a time in RFC 3339 (default: never)'),
  flows: parsedOption('--flows <names>', listArgument, 'the flows that it may use, such as enrich,geocode (default: all)'),
  scopes: parsedOption('--scopes <names>', listArgument, 'its rights: run, test, read (default: run)', { choices: scopeChoices }),
  rate: textOption('--rate <rate>', 'requests per s, min, h or d (default: 600/min)'),
  credits: parsedOption('--credits <n>', wholeNumber(0), 'credits that it may spend in a calendar month (default: no limit of its own)'),
  json,
};

/** The values of the options of `automate keys create`. */
export type CreateOptions = ValuesOf<typeof createOptions>;

/** Reads the value of a limit, or the word that lifts it, which stays as it is. */
function orLifted<Word extends string, Value>(word: Word, read: (text: string) => Value): (text: string) => Value | Word {
  return (text) => (text === word ? word : read(text));
}

/** The options of `automate keys change`. */
export const changeOptions = {
  credits: parsedOption(
    '--credits <n>',
    orLifted('unlimited', wholeNumber(0)),
    'credits that it may spend in a calendar month, or unlimited',
  ),
  rate: textOption('--rate <rate>', 'requests per s, min, h or d, such as 600/min'),
  expires: textOption('--expires <when>', 'when it expires: as for keys create, or never'),
  flows: parsedOption('--flows <names>', orLifted('all', listArgument), 'the only flows that it may use, or all'),
  json,
};

/** The values of the options of `automate keys change`. */
export type ChangeOptions = ValuesOf<typeof changeOptions>;

/** The options of `automate keys rotate`. */
export const rotateOptions = {
  overlap: textOption('--overlap <duration>', 'how long the old value stays valid, 0 to 7d (default: 24h)'),
  json,
};

/** The values of the options of `automate keys rotate`. */
export type RotateOptions = ValuesOf<typeof rotateOptions>;

/** The options of `automate keys revoke`. */
export const revokeOptions = { stopRuns: flag('--stop-runs', 'stop the runs that it has started, too') };

/** The options of `automate keys list`. */
export const listOptions = { all: flag('--all', 'revoked and expired ones too'), json };

/** The options of `automate keys usage`. */
export const usageOptions = { month: textOption('--month <month>', 'a month such as 2026-11, in UTC (default: this one)'), json };
