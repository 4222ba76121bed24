import type { ValuesOf } from '../options.ts';
import { cacertOption, envOption, json, varOption } from '../shared-options.ts';

/** The options of `automate doctor`. */
export const doctorOptions = { json, var: varOption, env: envOption(), cacert: cacertOption() };

/** The values of the options of `automate doctor`. */
export type DoctorOptions = ValuesOf<typeof doctorOptions>;
