import { InvalidArgumentError } from 'commander';
import { durationMs } from '../core/duration.ts';
import { listArgument } from './arguments.ts';
import { type Declared, parsedOption, textOption, type ValuesOf } from './options.ts';

const backendChoices = async () => (await import('../credentials/backend.ts')).backendNames;

/** Returns ms. Throws for a number without a unit, which could mean minutes or seconds. */
function timeArgument(text: string): number {
  const ms = /^\d+$/.test(text) ? undefined : durationMs(text);
  if (ms === undefined || ms === 0) throw new InvalidArgumentError(`expected a duration such as 50m, found "${text}"`);
  return ms;
}

/** `unnamed` is the help text for the default environment. */
export function ofEnv(unnamed = '$AUTOMATE_ENV, or default'): Declared<string | undefined> {
  return textOption('--env <name>', `the environment of the credential, such as staging (default: ${unnamed})`);
}

export const setOptions = {
  env: ofEnv(),
  expires: textOption('--expires <when>', 'when the secret expires: a duration such as 90d, or a day such as 2030-12-31'),
  hosts: parsedOption(
    '--hosts <hosts>',
    listArgument,
    'send the secret only to these hosts, such as api.example.com,*.example.com; * allows all hosts',
  ),
  command: textOption(
    '--command <line>',
    "store a command instead, which prints the secret when a request needs it, such as 'op read op://team/crm/token'",
  ),
  for: parsedOption(
    '--for <duration>',
    timeArgument,
    'with --command: run the command again after this time, such as 50m (default: never)',
  ),
  backend: textOption(
    '--backend <name>',
    'where to store the secret: keychain or vault (default: where it is now, or the first that works)',
    {
      choices: backendChoices,
    },
  ),
};

export type CredentialsSetOptions = ValuesOf<typeof setOptions>;
