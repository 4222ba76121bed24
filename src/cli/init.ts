import { fileName, inputName } from './arguments.ts';
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
    'automate init crm --schema flow.schema.json',
  ],
  args: { dir: argument('[dir]', 'the folder for the flow, which is created if it does not exist', { default: '.' }) },
  options: initOptions,
  run: async ({ args, options, terminal }) => (await import('./init-command.ts')).initCommand(args.dir ?? '.', options, terminal),
});
