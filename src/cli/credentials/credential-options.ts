import { listArgument } from '../arguments.ts';
import { type Declared, parsedOption, textOption, type ValuesOf } from '../options.ts';

const backendChoices = async () => (await import('../../io/credentials/backend.ts')).backendNames;

/** The environment of a credential. `unnamed`: the default, as the help names it. */
export function ofEnv(unnamed = 'AUTOMATE_ENV, else default'): Declared<string | undefined> {
  return textOption('--env <name>', `environment of the credential, such as staging (default: ${unnamed})`);
}

/** The options of `automate credentials set`. */
export const setOptions = {
  env: ofEnv(),
  expires: textOption('--expires <when>', 'when the secret expires: a duration such as 90d, or a day such as 2030-12-31'),
  hosts: parsedOption('--hosts <hosts>', listArgument, 'send it to these hosts only, such as api.example.com,*.example.com; * allows all'),
  backend: textOption('--backend <name>', 'where to store it: keychain or vault (default: where it is, else the first available)', {
    choices: backendChoices,
  }),
};

/** The values of the options of `automate credentials set`. */
export type SetOptions = ValuesOf<typeof setOptions>;
