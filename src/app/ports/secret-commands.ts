import { createClock } from '../../io/clock/clock.ts';
import { type CommandSecrets, SecretCommands, type SecretUser } from '../../io/credentials/command-secrets.ts';
import type { StoredCommand } from '../../io/credentials/secret.ts';
import { homeFolder } from '../../io/files/home.ts';

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
