import { exitCodeMeanings } from '../../src/cli/exit-code-meanings.ts';
import type { CommandSpec, Declarations, Declared } from '../../src/cli/options.ts';

/** Returns the manual page automate(1) in roff, from the declarations of the commands. */
export function manPage(commands: readonly CommandSpec[]): string {
  return `${[
    '.TH AUTOMATE 1 "" "" "User Commands"',
    '.SH NAME',
    'automate \\- send an HTTP request for every record of a CSV or JSON file',
    '.SH SYNOPSIS',
    '.B automate',
    '.I command',
    '.RI [ options ]',
    '.SH DESCRIPTION',
    text(
      'A flow is a YAML file that lists what to do with each record, such as sending a request, calling a tool or asking a language model.',
    ),
    text('automate runs a flow over the records of a file, and writes the records with the answers in them.'),
    text('Failed records are written to a separate file, so that you can correct and retry them.'),
    '.SH COMMANDS',
    ...commands.flatMap((command) => commandLines(command, 'automate')),
    '.SH EXIT STATUS',
    ...exitCodeMeanings.flatMap(({ code, meaning }) => ['.TP', `.B ${code}`, text(meaning)]),
    '.SH ENVIRONMENT',
    ...variables.flatMap(([name, meaning]) => ['.TP', `.B ${name}`, text(meaning)]),
    '.SH SEE ALSO',
    text('The docs folder of the package has an introduction, recipes, and a reference of all options of a flow.'),
  ].join('\n')}\n`;
}

const variables = [
  ['AUTOMATE_HOME', 'the folder for the files that automate keeps, such as credits and saved connections'],
  [
    'AUTOMATE_CREDENTIAL_NAME',
    'the secret of a credential, whose NAME is written in upper case; with _FILE at the end, the name of a file that holds the secret',
  ],
  ['AUTOMATE_ENV', 'the environment for credentials and variables, such as staging'],
  [
    'AUTOMATE_QUEUE_KEY',
    'the key of a queue, the same for all its runs and workers; with _FILE at the end, the name of a file that holds it',
  ],
  ['AUTOMATE_VAULT_PASSPHRASE', 'the passphrase of the vault; with _FILE at the end, the name of a file that holds it'],
  ['HTTP_PROXY, HTTPS_PROXY, NO_PROXY', 'the proxies for requests, and the hosts that are requested without a proxy'],
  ['NO_COLOR, FORCE_COLOR', 'switch colors off or on'],
] as const;

function commandLines({ name, help, args = {}, options = {}, examples = [], commands = [] }: CommandSpec, before: string): string[] {
  const path = `${before} ${name}`;
  const own = commands.length === 0 || Object.keys(options).length > 0;
  const words = Object.values(args).map(({ flags }) => flags);
  return [
    ...(own
      ? ['.SS', ...[text([path, ...words].join(' '))], text(`${capital(help)}.`), ...optionLines(options), ...exampleLines(examples)]
      : []),
    ...commands.flatMap((inner) => commandLines(inner, path)),
  ];
}

function optionLines(options: Declarations): string[] {
  return Object.values<Declared<unknown>>(options).flatMap(({ flags, short, help, default: value, defaultText }) => [
    '.TP',
    `.B ${escaped(short === undefined ? flags : `-${short}, ${flags}`)}`,
    text(value === undefined ? help : `${help} (default: ${defaultText ?? value})`),
  ]);
}

function exampleLines(examples: readonly string[]): string[] {
  return examples.length === 0 ? [] : ['.PP', 'Examples:', '.nf', ...examples.map((line) => text(`    ${line}`)), '.fi'];
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Escapes a line of text. Otherwise, a dot or quote at its start would make the line a macro. */
function text(line: string): string {
  return escaped(line).replace(/^(?=[.'])/, '\\&');
}

function escaped(line: string): string {
  return line.replaceAll('\\', '\\e').replaceAll('-', '\\-');
}
