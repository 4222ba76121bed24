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
