import { listArgument } from '../arguments.ts';
import { flag, parsedOption, textOption, type ValuesOf } from '../options.ts';

/** The options of `automate webhooks add`. */
export const addOptions = {
  url: textOption('--url <url>', 'where to send the messages: https, or http on this machine'),
  flows: parsedOption('--flows <names>', listArgument, 'only runs of these flows, such as enrich,geocode (default: all)'),
  allowPrivate: flag('--allow-private', 'let the address be inside the network'),
};

/** The values of the options of `automate webhooks add`. */
export type AddOptions = ValuesOf<typeof addOptions>;
