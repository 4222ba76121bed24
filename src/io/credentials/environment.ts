import { readFile } from 'node:fs/promises';
import { AutomateError } from '../../core/failure.ts';
import type { CredentialStore } from './store.ts';

/** The environment variable of a credential: `crm-token` is `AUTOMATE_CREDENTIAL_CRM_TOKEN`. */
export function credentialVariable(name: string): string {
  return `AUTOMATE_CREDENTIAL_${name.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`;
}

/** Makes the store of environment variables, and of files named by variables that end in `_FILE`. */
export function createEnvironmentCredentials(environment: NodeJS.ProcessEnv): CredentialStore {
  return {
    async find(name) {
      const variable = credentialVariable(name);
      const secret = environment[variable];
      if (secret !== undefined && secret !== '') return checked(withoutLineBreak(secret), variable);
      const file = environment[`${variable}_FILE`];
      return file === undefined || file === '' ? undefined : checked(await secretOf(file, `${variable}_FILE`), file);
    },
  };
}

/** Editors and `$(...)` elsewhere leave a line break at the end. */
function withoutLineBreak(secret: string): string {
  return secret.replace(/\r?\n$/, '');
}

/** Without a byte order mark. */
async function secretOf(file: string, variable: string): Promise<string> {
  try {
    return withoutLineBreak(new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file)));
  } catch (error) {
    const reason = error instanceof TypeError ? 'it is not UTF-8' : (error as Error).message;
    throw new AutomateError('credential', `${variable} names a file that cannot be read: ${reason}`);
  }
}

function checked(secret: string, where: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a header cannot hold them
  if (secret === '' || /[\x00-\x1f\x7f]/.test(secret)) {
    throw new AutomateError(
      'credential',
      `expected a secret on one line, found ${secret === '' ? 'nothing' : 'a control character'} in ${where}`,
    );
  }
  return secret;
}
