import { Command, CommanderError, Option } from 'commander';
import { cleaned } from '../core/answer/response.ts';
import { AutomateError, FlowError } from '../core/failure.ts';
import { fileName, inputName, maxErrorsArgument, rateArgument, setArgument, wholeNumber } from './arguments.ts';
import { addCacheCommands } from './cache/cache-commands.ts';
import { addConnectionCommands } from './connections/connection-commands.ts';
import { addCredentialCommands } from './credentials/credential-commands.ts';
import { addCreditsCommands } from './credits/credits-commands.ts';
import { exitCodeOf, exitCodes } from './exit.ts';
import { flowErrorText } from './show/problems.ts';
import { createTerminal, type Terminal } from './terminal.ts';
import { version } from './version.ts';

/** The command line. Ends the process with the contract's exit codes. */
export async function main(argv: readonly string[]): Promise<void> {
  const terminal = createTerminal();
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => process.exit(explained(error, terminal)));
  }
  let exitCode: number = exitCodes.success;
  let help = '';
  try {
    const program = createProgram(terminal, {
      exit: (code) => {
        exitCode = code;
      },
      help: (text) => {
        help += text;
      },
    });
    await program.parseAsync(argv).catch(unlessDone);
    if (help !== '') await terminal.print(help.replace(/\n$/, ''));
  } catch (error) {
    exitCode = explained(error, terminal);
  }
  process.exit(exitCode);
}

/** With help and with its version, commander ends as with an error. */
function unlessDone(error: unknown): void {
  if (!(error instanceof CommanderError) || error.exitCode !== 0) throw error;
}

/** Whatever goes wrong while it is said, nothing gets out that was not masked. */
function explained(error: unknown, terminal: Terminal): number {
  try {
    return explain(error, terminal);
  } catch {
    process.stderr.write('automate: this is a bug, please report it: what went wrong cannot be told\n');
    return exitCodes.bug;
  }
}

/** Says what went wrong; answers the exit code. */
function explain(error: unknown, { tell, colors }: Terminal): number {
  if (error instanceof CommanderError) return exitCodes.usage;
  if (error instanceof FlowError) tell(flowErrorText(error, colors));
  else if (error instanceof AutomateError) {
    if (error.kind !== 'stdout-closed') tell(`${colors.red('automate:')} ${cleaned(error.message).replaceAll('\n', '\n  ')}`);
  } else {
    tell(`${colors.red('automate: this is a bug, please report it:')} ${(error as Error)?.stack ?? String(error)}`);
  }
  return exitCodeOf(error);
}

/** What comes of a command line. */
interface Outcome {
  exit(code: number): void;
  /** Takes the help, or the version, that was asked for. */
  help(text: string): void;
}

const runEndings = `
Exit codes: 0 every record succeeded, 1 a bug, 2 usage, 3 the flow is not valid,
4 some records failed, 5 stopped early by a limit, 6 the input cannot be read,
7 a credential or connection is missing or refused, 73 the output exists or is
locked, 74 it cannot be written, 129, 130, 143 interrupted, 141 stdout closed.
Proxies: HTTP_PROXY, HTTPS_PROXY and NO_PROXY.`;

/** The commands and their options. What a command does is loaded when it is called. */
export function createProgram(terminal: Terminal, { exit, help }: Outcome): Command {
  const program = new Command('automate')
    .description('Runs automations over CSV and JSON files: every record passes the nodes of a flow.')
    .version(version)
    .showSuggestionAfterError()
    .showHelpAfterError('(automate --help tells more)')
    .configureOutput({
      writeOut: help,
      outputError: (text, write) => write(withoutValues(text.replace(/^error: /, 'automate: '))),
    })
    .exitOverride();

  const inputOptions = (command: Command) =>
    command
      .option('--in-format <format>', 'csv, tsv, json or ndjson, each also with .gz; needed for stdin')
      .option('--delimiter <character>', 'what separates the cells of a CSV (default: comma, tab for TSV)')
      .option('--encoding <name>', 'the encoding of the input, such as latin1 or utf-16le (default: utf-8)');
  const envOption = (command: Command) =>
    command.option('--env <name>', 'whose credentials, such as staging (default: AUTOMATE_ENV, else default)');
  const httpOptions = (command: Command) =>
    envOption(command)
      .option('--allow-http', 'allow http:// URLs to other machines')
      .option('--cacert <file>', 'trust these certificate authorities (PEM) besides the usual ones');

  const run = program
    .command('run')
    .description('run a flow over the records of a file')
    .argument('<flow>', 'the flow file (YAML)')
    .option('--in <file>', 'the input: .csv .tsv .json .jsonl .ndjson, each also .gz, or - for stdin')
    .option('--out <file>', 'the output, or - for stdout', '-')
    .option('--out-format <format>', "the output's format (default: by its name, else the input's)")
    .option('--errors <file>', 'failed records (default: <input>.errors.<ext> beside the output)')
    .option('--limit <n>', 'at most so many records', wholeNumber(0))
    .option('--skip <n>', 'leave out the first records', wholeNumber(0))
    .option('--concurrency <n>', 'requests in flight at once, per node', wholeNumber(1))
    .option('--rate <rate>', 'at most so many requests in a time, such as 10/s, per origin and credential', rateArgument)
    .option('--max-errors <n>', 'stop when more records than this have failed: a number, or a percentage such as 5%', maxErrorsArgument)
    .option('--max-credits <n>', 'stop before spending more credits', wholeNumber(0))
    .option('--unordered', 'write records as they come, not in input order')
    .option('--dry-run', 'send nothing: print the plan: records, actions, credits, time, the first requests')
    .option('--events <file>', 'write every event as NDJSON')
    .option('--summary <file>', 'write the summary as JSON')
    .option('--resume', 'go on where an earlier run of the same command line ended')
    .option('--csv-safe', "put ' in front of cells of the output that a spreadsheet would take for a formula")
    .option('--force', 'overwrite existing files')
    .option('--quiet', 'no progress and no summary')
    .addHelpText('after', runEndings);
  const lacksIn = "required option '--in <file>' not specified";
  // Before what is missing, commander names what it does not know.
  Object.assign(run, {
    missingArgument: (name: string) =>
      run.error(`error: missing required argument '${name}'${run.opts().in === undefined ? `, and ${lacksIn}` : ''}`),
  });
  httpOptions(inputOptions(run)).action(async (flow, options) => {
    if (options.in === undefined) run.error(`error: ${lacksIn}`);
    exit(await (await import('./run/run.ts')).runCommand(flow, options, terminal));
  });

  const testRequest = program
    .command('test-request')
    .description("preview one request of a flow, and the paths of its answer's structure")
    .argument('<flow>', 'the flow file (YAML)')
    .option('--in <file>', 'take the record from this file, or - for stdin')
    .option('--record <n>', 'which record, from 1', wholeNumber(1), 1)
    .addOption(new Option('--set <field=value>', 'set a field; may be given again').argParser(setArgument).default([], 'none'))
    .option('--node <id>', 'which node (default: the first that sends a request)')
    .option('--json', 'print JSON')
    .option('--curl', 'print the request as a curl command line')
    .option('--no-send', 'send nothing');
  httpOptions(inputOptions(testRequest)).action(async (flow, options) => {
    exit(await (await import('./test-request/test-request.ts')).testRequestCommand(flow, options, terminal));
  });

  const validate = program
    .command('validate')
    .description('check a flow: every problem with its position')
    .argument('<flow>', 'the flow file (YAML)')
    .option('--in <file>', "check every reference against this file's header")
    .option('--offline', 'ask no MCP server for its tools')
    .option('--cacert <file>', 'trust these certificate authorities (PEM) besides the usual ones')
    .option('--allow-http', 'allow http:// URLs to other machines');
  envOption(inputOptions(validate)).action(async (flow, options) => {
    exit(await (await import('./flow/validate.ts')).validateCommand(flow, options, terminal));
  });

  const init = program
    .command('init')
    .description('write a flow to start from: flow.yaml')
    .argument('[dir]', 'the folder for it; made when it is not there', '.')
    .option('--from-curl <command>', 'make it of a curl command line, or - for one on stdin; secrets are left out')
    .option('--in <file>', 'for the fields of this file, or - for stdin')
    .option('--force', 'overwrite a flow that is there');
  inputOptions(init).action(async (folder, options) => {
    exit(await (await import('./flow/init.ts')).initCommand(folder, options, terminal));
  });

  program
    .command('nodes')
    .description('list the node types and the tools of the saved MCP connections, or explain a type')
    .argument('[type]', 'a node type')
    .option('--refresh', 'ask the MCP servers for their tools')
    .option('--env <name>', 'for --refresh: whose credentials, such as staging (default: AUTOMATE_ENV, else default)')
    .option('--cacert <file>', 'for --refresh: trust these certificate authorities (PEM) besides the usual ones')
    .action(async (type, options) => exit(await (await import('./flow/nodes.ts')).nodesCommand(type, options, terminal)));

  program
    .command('schema')
    .description('print the JSON Schema of the flow file, for editors')
    .action(async () => exit(await (await import('./flow/schema.ts')).schemaCommand(terminal)));

  program
    .command('completion')
    .description('print the completion script of a shell')
    .argument('<shell>', 'bash, zsh or fish')
    .action(async (shell) => exit(await (await import('./completion.ts')).completionCommand(shell, program, terminal)));

  program
    .command('demo')
    .description('run an example flow over real records against a small API on this machine')
    .option('--serve', 'only start the API, for the flows in examples/')
    .option('--port <n>', 'where the API listens (default: 4010 with --serve, else any free port)', wholeNumber(0))
    .action(async (options) => exit(await (await import('./run/demo.ts')).demoCommand(options, terminal)));

  addCredentialCommands(program, terminal, exit);
  addConnectionCommands(program, terminal, exit);
  addCacheCommands(program, terminal, exit);
  addCreditsCommands(program, terminal, exit);

  for (const command of program.commands) {
    command.showHelpAfterError(`(automate ${command.name()} --help tells more)`);
    for (const inner of command.commands) inner.showHelpAfterError(`(automate ${command.name()} ${inner.name()} --help tells more)`);
    for (const one of [command, ...command.commands]) expectFileNames(one);
  }
  return program;
}

function expectFileNames({ options, registeredArguments }: Command): void {
  for (const option of options) if (option.flags.endsWith('<file>')) option.argParser(option.long === '--in' ? inputName : fileName);
  for (const argument of registeredArguments) if (argument.name() === 'flow') argument.argParser(fileName);
}

/** What was written behind an option that there is none of may be a secret. */
function withoutValues(text: string): string {
  return text.replace(/'(--[^='\s]*=|-[^-'])[^']+'/g, "'$1...'");
}
