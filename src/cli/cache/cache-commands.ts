import type { Command } from 'commander';
import type { Terminal } from '../terminal.ts';

/** Adds `automate cache` and its commands. What they do is loaded when they are called. */
export function addCacheCommands(program: Command, terminal: Terminal, exit: (code: number) => void): void {
  const cache = program.command('cache').description('the answers that nodes with `cache` keep on disk');
  const commands = () => import('./cache.ts');

  cache
    .command('info')
    .description('tell how much is kept, since when, where, and how much may be')
    .option('--json', 'print JSON')
    .action(async (options) => exit(await (await commands()).infoCommand(options, terminal)));

  cache
    .command('clear')
    .description('take every answer away')
    .action(async () => exit(await (await commands()).clearCommand(terminal)));
}
