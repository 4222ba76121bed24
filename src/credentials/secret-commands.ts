import { createClock } from '../files/clock.ts';
import { homeFolder } from '../files/home.ts';
import { type CommandSecrets, SecretCommands, type SecretUser } from './command-secrets.ts';
import type { StoredCommand } from './secret.ts';

/** All runs of this process share the printed secrets. */
const secretCommands = new SecretCommands({
  get environment() {
    return process.env;
  },
  clock: createClock(),
});

export function secretCommandsOf(commands: readonly StoredCommand[], user: SecretUser): CommandSecrets {
  return secretCommands.forUser(commands, homeFolder(process.env), user);
}
