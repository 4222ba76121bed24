import { fileName, inputName, reportName, wholeNumber } from './arguments.ts';
import { argument, command, flag, parsedOption, textOption } from './options.ts';
import { inputOptions } from './shared-options.ts';

const initOptions = {
  fromCurl: textOption(
    '--from-curl <command>',
    'make the flow from a curl command, or - to read it from stdin; its secrets are not written to the flow',
  ),
  fromOpenapi: textOption('--from-openapi <file>', 'make the flow from an operation in an OpenAPI 3.0 or 3.1 file (JSON or YAML)'),
  operation: textOption(
    '--operation <id>',
    'with --from-openapi: the operation, by operationId or method and path, such as "GET /pets/{petId}"; other text lists the operations that contain it',
  ),
  fromHar: parsedOption(
    '--from-har <file>',
    reportName,
    'make the flow from a recording of the network panel of a browser (HAR); without --entry, list its requests',
  ),
  entry: parsedOption('--entry <n>', wholeNumber(1), 'with --from-har: the number of the request in the list'),
  fromPostman: parsedOption(
    '--from-postman <file>',
    reportName,
    'make the flow from a Postman collection (v2.0 or v2.1); without --request, list its requests',
  ),
  request: textOption('--request <name>', 'with --from-postman: the request, by its name or its path, such as "Users/Get a user"'),
  in: parsedOption('--in <file>', inputName, 'the input whose fields the flow can use, or - for stdin', { short: 'i' }),
  schema: parsedOption(
    '--schema <file>',
    fileName,
    'a JSON Schema from automate schema --out, which the flow refers to so that your editor can check it',
  ),
  force: flag('--force', 'overwrite an existing flow', { short: 'f' }),
  ...inputOptions,
};

export const init = command({
  examples: [
    'automate init --in rows.csv',
    "automate init crm --from-curl 'curl https://api.example.com/users/17'",
    'automate init pets --from-openapi openapi.yaml --operation getPetById',
    'automate init orders --from-har recording.har --entry 12',
    'automate init crm --from-postman crm.json --request "Users/Get a user"',
    'automate init crm --schema flow.schema.json',
  ],
  args: { dir: argument('[dir]', 'the folder for the flow, which is created if it does not exist', { default: '.' }) },
  options: initOptions,
  run: async ({ args, options, terminal }) => (await import('./init-command.ts')).initCommand(args.dir ?? '.', options, terminal),
});
