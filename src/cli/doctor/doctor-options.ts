import type { ValuesOf } from '../options.ts';
import { cacertOption, envOption, json } from '../shared-options.ts';

/** The options of `automate doctor`. */
export const doctorOptions = { json, env: envOption(), cacert: cacertOption() };

/** The values of the options of `automate doctor`. */
export type DoctorOptions = ValuesOf<typeof doctorOptions>;
