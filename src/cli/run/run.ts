import { exitCodeMeanings } from '../exit-code-meanings.ts';
import { command } from '../options.ts';
import { flow, oneFlow } from '../shared-options.ts';
import { runOptions } from './run-options.ts';

const exitCodesHelp = `
Exit codes:
${exitCodeMeanings.map(({ code, meaning }) => `  ${code.padEnd(Math.max(4, code.length + 1))} ${meaning}`).join('\n')}

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
  tooManyArguments: oneFlow('run'),
  options: runOptions,
  footer: exitCodesHelp,
  run: async ({ args, options, written, terminal }) =>
    (await import('./run-command.ts')).runCommand({ flow: args.flow, options, written }, terminal),
});
