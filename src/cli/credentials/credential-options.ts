import { InvalidArgumentError } from 'commander';
import { durationMs } from '../../core/duration.ts';
import { listArgument } from '../arguments.ts';
import { type Declared, parsedOption, textOption, type ValuesOf } from '../options.ts';

const backendChoices = async () => (await import('../../io/credentials/backend.ts')).backendNames;

/** Reads the time for which a secret is used. A number alone could be minutes or seconds. */
function timeArgument(text: string): number {
  const ms = /^\d+$/.test(text) ? undefined : durationMs(text);
  if (ms === undefined || ms === 0) throw new InvalidArgumentError(`expected a duration such as 50m, found "${text}"`);
  return ms;
}

/** The environment of a credential. `unnamed`: the default, as the help names it. */
export function ofEnv(unnamed = 'AUTOMATE_ENV, else default'): Declared<string | undefined> {
  return textOption('--env <name>', `environment of the credential, such as staging (default: ${unnamed})`);
}

/** The options of `automate credentials set`. */
export const setOptions = {
  env: ofEnv(),
  expires: textOption('--expires <when>', 'when the secret expires: a duration such as 90d, or a day such as 2030-12-31'),
  hosts: parsedOption('--hosts <hosts>', listArgument, 'send it to these hosts only, such as api.example.com,*.example.com; * allows all'),
  command: textOption('--command <line>', "run this command for the secret when a request needs it, such as 'op read op://team/crm/token'"),
  for: parsedOption('--for <duration>', timeArgument, 'run the command again after this time, such as 50m (default: never)'),
  backend: textOption('--backend <name>', 'where to store it: keychain or vault (default: where it is, else the first available)', {
    choices: backendChoices,
  }),
};

/** The values of the options of `automate credentials set`. */
export type SetOptions = ValuesOf<typeof setOptions>;
