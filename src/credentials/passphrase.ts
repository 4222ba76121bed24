import { AutomateError } from '../core/failure.ts';
import { statOf } from '../files/stat.ts';
import { oneLine, readSecretFile } from './environment.ts';
import type { Passphrase } from './vault.ts';

const variable = 'AUTOMATE_VAULT_PASSPHRASE';

const noPassphrase = `there is no passphrase\nset ${variable}, or ${variable}_FILE to the name of a file that contains it`;

/** Returns a file's permissions, such as `0644`, if other users can access the file. Otherwise returns undefined. */
export function modeOthersCanRead(file: string): string | undefined {
  const mode = statOf(file)?.mode ?? 0;
  if (process.platform === 'win32' || (mode & 0o077) === 0) return undefined;
  return (mode & 0o777).toString(8).padStart(4, '0');
}

/**
 * Creates the source of the vault's passphrase. The passphrase is in a variable or a file, or the user types it. `ask` prompts the user;
 * undefined if there is no terminal. `warn` is called if other users can read the passphrase's file.
 */
export function createPassphrase(
  environment: NodeJS.ProcessEnv,
  ask?: (isNew: boolean, isAgain: boolean) => Promise<string>,
  warn?: (text: string) => void,
): Passphrase {
  let typed: Promise<string> | undefined;
  let isAgain = false;
  let isWarned = false;
  const isGiven = () => Boolean(environment[variable] || environment[`${variable}_FILE`]);
  return {
    isGiven,
    source() {
      if (environment[variable]) return variable;
      return isGiven() ? `the file in ${variable}_FILE` : 'what was typed';
    },
    problem: () => (isGiven() || ask ? undefined : noPassphrase),
    async get(isNew) {
      const given = environment[variable];
      if (given) return oneLine(given, variable);
      const file = environment[`${variable}_FILE`];
      if (file) {
        const mode = modeOthersCanRead(file);
        if (mode !== undefined && !isWarned)
          warn?.(`other users can read ${file}, which contains the vault's passphrase (mode ${mode})\nchange that: chmod 600 ${file}`);
        isWarned = true;
        return readSecretFile(file, `${variable}_FILE`);
      }
      if (!ask) throw new AutomateError('credential', `the vault cannot be opened: ${noPassphrase}`);
      typed ??= ask(isNew, isAgain);
      return typed;
    },
    forget() {
      if (!typed) return false;
      typed = undefined;
      isAgain = true;
      return true;
    },
  };
}
