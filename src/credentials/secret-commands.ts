import { createClock } from '../files/clock.ts';
import { homeFolder } from '../files/home.ts';
import { type CommandSecrets, SecretCommands, type SecretUser } from './command-secrets.ts';
import type { StoredCommand } from './secret.ts';

/** The commands that print secrets. All runs of this process share the printed secrets. */
const secretCommands = new SecretCommands({
  get environment() {
    return process.env;
  },
  clock: createClock(),
});

/** Returns the secrets that the given commands print. */
export function secretCommandsOf(commands: readonly StoredCommand[], user: SecretUser): CommandSecrets {
  return secretCommands.forUser(commands, homeFolder(process.env), user);
}
