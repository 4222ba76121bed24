import { createClock } from '../../io/clock/clock.ts';
import { type CommandSecrets, SecretCommands, type SecretUser } from '../../io/credentials/command-secrets.ts';
import type { StoredCommand } from '../../io/credentials/secret.ts';
import { homeFolder } from '../../io/files/home.ts';

/** The commands of this process: all of its runs share what they give. */
const secretCommands = new SecretCommands({
  get environment() {
    return process.env;
  },
  clock: createClock(),
});

/** The secrets that some commands give. */
export function secretCommandsOf(commands: readonly StoredCommand[], user: SecretUser): CommandSecrets {
  return secretCommands.forUser(commands, homeFolder(process.env), user);
}
