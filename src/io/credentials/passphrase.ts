import { AutomateError } from '../../core/failure.ts';
import { oneLine, secretFile } from './environment.ts';
import type { Passphrase } from './vault.ts';

const variable = 'AUTOMATE_VAULT_PASSPHRASE';

/** Makes the vault's passphrase: from a variable, from a file, or from the person who is asked, if there is one. */
export function createPassphrase(environment: NodeJS.ProcessEnv, ask?: (isNew: boolean, isAgain: boolean) => Promise<string>): Passphrase {
  let asked: Promise<string> | undefined;
  let isAgain = false;
  const isGiven = () => Boolean(environment[variable] || environment[`${variable}_FILE`]);
  const none = `there is no passphrase\nset ${variable}, or ${variable}_FILE to the name of a file that holds it`;
  return {
    isGiven,
    source() {
      if (environment[variable]) return variable;
      return isGiven() ? `the file that ${variable}_FILE names` : 'what was typed';
    },
    problem: () => (isGiven() || ask ? undefined : none),
    async get(isNew) {
      const given = environment[variable];
      if (given) return oneLine(given, variable);
      const file = environment[`${variable}_FILE`];
      if (file) return secretFile(file, `${variable}_FILE`);
      if (!ask) throw new AutomateError('credential', `the vault cannot be opened: ${none}`);
      asked ??= ask(isNew, isAgain);
      return asked;
    },
    refuse() {
      if (!asked) return false;
      asked = undefined;
      isAgain = true;
      return true;
    },
  };
}
