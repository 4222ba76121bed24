import type { Command } from 'commander';
import { AutomateError } from '../../core/failure.ts';
import { exitCodes } from '../exit.ts';
import type { Terminal } from '../terminal.ts';

const shells = new Map([
  ['bash', bash],
  ['zsh', zsh],
  ['fish', fish],
]);

/** Prints the completion script of a shell, made from the commands themselves. Answers the exit code. */
export async function completionCommand(shell: string, program: Command, terminal: Terminal): Promise<number> {
  const script = shells.get(shell);
  if (!script) throw new AutomateError('usage', `expected ${[...shells.keys()].join(', ')}, found "${shell}"`);
  await terminal.print(script(program));
  return exitCodes.success;
}

function flagsOf(command: Command): string[] {
  return command.options.flatMap(({ short, long }) => [short, long].filter((flag) => flag !== undefined && flag !== null)) as string[];
}

function bash(program: Command): string {
  const names = program.commands.map((command) => command.name()).join(' ');
  const cases = program.commands.map((command) => `    ${command.name()}) words="${flagsOf(command).join(' ')} --help" ;;`);
  return `# bash completion for automate: eval "$(automate completion bash)"
_automate() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${names} --help --version" -- "$current"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac
  if [[ "$current" == -* ]]; then COMPREPLY=($(compgen -W "$words" -- "$current")); fi
}
complete -o default -F _automate automate`;
}

function zsh(program: Command): string {
  const describe = (text: string) => text.replaceAll("'", '’').replace(/[[\]:"\\]/g, ' ');
  const commands = program.commands.map((command) => `    '${command.name()}:${describe(command.description())}'`);
  const cases = program.commands.map((command) => {
    const options = command.options.map(
      (option) => `'${option.long}[${describe(option.description)}]${option.required || option.optional ? ':value:_files' : ''}'`,
    );
    return `    ${command.name()}) _arguments ${[...options, "'*:file:_files'"].join(' ')} ;;`;
  });
  return `#compdef automate
# zsh completion for automate: eval "$(automate completion zsh)"
_automate() {
  local -a commands=(
${commands.join('\n')}
  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  local command=$words[2]
  shift words; (( CURRENT-- ))
  case $command in
${cases.join('\n')}
  esac
}
compdef _automate automate`;
}

function fish(program: Command): string {
  const quoted = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`;
  const lines = program.commands.flatMap((command) => [
    `complete -c automate -n __fish_use_subcommand -f -a ${command.name()} -d ${quoted(command.description())}`,
    ...command.options.map(
      (option) =>
        `complete -c automate -n '__fish_seen_subcommand_from ${command.name()}' -l ${(option.long ?? '').replace(/^--/, '')}${option.required ? ' -r' : ''} -d ${quoted(option.description)}`,
    ),
  ]);
  return ['# fish completion for automate: automate completion fish | source', ...lines].join('\n');
}
