import { listArgument } from '../arguments.ts';
import { flag, parsedOption, textOption, type ValuesOf } from '../options.ts';

/** The options of `automate webhooks add`. */
export const addOptions = {
  url: textOption('--url <url>', 'the URL to which messages are sent: https, or http on this machine'),
  flows: parsedOption('--flows <names>', listArgument, 'send messages only for these flows, such as enrich,geocode (default: all)'),
  allowPrivate: flag('--allow-private', 'allow an address inside your network'),
};

/** The values of the options of `automate webhooks add`. */
export type AddWebhookOptions = ValuesOf<typeof addOptions>;
