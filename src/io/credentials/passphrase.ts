import { AutomateError } from '../../core/failure.ts';
import { oneLine, readSecretFile } from './environment.ts';
import type { Passphrase } from './vault.ts';

const variable = 'AUTOMATE_VAULT_PASSPHRASE';

const noPassphrase = `there is no passphrase\nset ${variable}, or ${variable}_FILE to the name of a file that holds it`;

/** Finds the vault's passphrase: in a variable, in a file, or by asking the person once. `ask` is absent if there is no person. */
export function createPassphrase(environment: NodeJS.ProcessEnv, ask?: (isNew: boolean, isAgain: boolean) => Promise<string>): Passphrase {
  let typed: Promise<string> | undefined;
  let isAgain = false;
  const isGiven = () => Boolean(environment[variable] || environment[`${variable}_FILE`]);
  return {
    isGiven,
    source() {
      if (environment[variable]) return variable;
      return isGiven() ? `the file that ${variable}_FILE names` : 'what was typed';
    },
    problem: () => (isGiven() || ask ? undefined : noPassphrase),
    async get(isNew) {
      const given = environment[variable];
      if (given) return oneLine(given, variable);
      const file = environment[`${variable}_FILE`];
      if (file) return readSecretFile(file, `${variable}_FILE`);
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
