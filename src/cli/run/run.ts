import { command } from '../options.ts';
import { flow } from '../shared-options.ts';
import { runOptions } from './run-options.ts';

const exitCodesHelp = `
Exit codes:
  0    every record succeeded
  1    a bug, or an unexpected failure
  2    the command line is wrong
  3    the flow is not valid
  4    finished, but some records failed
  5    stopped early, such as by a limit; --resume continues
  6    the input cannot be read, or has changed while it was read
  7    a credential or connection is missing or refused
  73   the output exists or is in use, or a port is in use
  74   the output cannot be written
  129, 130, 143   interrupted by a signal; --resume continues
  141  stdout was closed

Requests use a proxy if HTTP_PROXY or HTTPS_PROXY is set. NO_PROXY lists the
hosts that are requested without it.`;

export const run = command({
  examples: [
    'automate run flow.yaml --in rows.csv --out out.csv',
    'automate run flow.yaml -i rows.csv -o out.csv --limit 10 --verbose',
    'cat rows.ndjson | automate run flow.yaml | jq .name',
    'automate run flow.yaml -i rows.csv -o out.csv --pilot 40',
    'automate run flow.yaml -i rows.csv -o out.csv --replace --quiet',
    'automate run flow.yaml -i rows.csv -o out.csv --update --max-age 30d',
    'automate run flow.yaml -i export.json --records data.items -o out.csv',
    'automate run flow.yaml -i january.csv -i february.csv -o out.csv',
    'automate run flow.yaml -i rows.csv -o out.csv --files documents',
    'automate run flow.yaml -i rows.csv -o out.csv --workers 4',
    'automate run flow.yaml -i rows.csv -o out.csv --queue redis://redis:6379',
    'automate run flow.yaml -i rows.csv -o out.csv --concurrency auto',
    'automate run flow.yaml -i rows.csv -o out.csv --metrics 9464',
  ],
  args: { flow },
  tooManyArguments:
    'too many arguments: expected one flow\nwrite --in before each input file, for example: --in a.csv --in b.csv\n(see automate run --help)',
  options: runOptions,
  footer: exitCodesHelp,
  run: async ({ args, options, written, terminal }) =>
    (await import('./run-command.ts')).runCommand({ flow: args.flow, options, written }, terminal),
});
