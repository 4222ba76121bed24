import { fileName, inputName, reportName } from '../arguments.ts';
import { flag, parsedOption, textOption, type ValuesOf } from '../options.ts';
import { cacertOption, envOption, httpOptions, inputOptions, inputsOption, varOption } from '../shared-options.ts';

/** The options of `automate validate`. */
export const validateOptions = {
  in: inputsOption('check that the fields in the flow are columns of this file'),
  offline: flag(
    '--offline',
    'do not use the network, keychain or vault; only warn about credentials that are not in environment variables',
  ),
  var: varOption,
  ...httpOptions,
  ...inputOptions,
};

/** The values of the options of `automate validate`. */
export type ValidateOptions = ValuesOf<typeof validateOptions>;

/** The options of `automate init`. */
export const initOptions = {
  fromCurl: textOption(
    '--from-curl <command>',
    'make the flow from a curl command, or - to read it from stdin; its secrets are not written to the flow',
  ),
  fromOpenapi: textOption('--from-openapi <file>', 'make the flow from an operation in an OpenAPI 3.0 or 3.1 file (JSON or YAML)'),
  operation: textOption(
    '--operation <id>',
    'with --from-openapi: the operation, by operationId or method and path, such as "GET /pets/{petId}"',
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

/** The values of the options of `automate init`. */
export type InitOptions = ValuesOf<typeof initOptions>;

/** The kinds of files that have a JSON Schema. */
export const schemaKinds: readonly string[] = ['flow', 'test'];

/** The options of `automate schema`. */
export const schemaOptions = {
  out: parsedOption('--out <file>', reportName, 'write the schema to this file; an older schema there is replaced', { short: 'o' }),
};

/** The values of the options of `automate schema`. */
export type SchemaOptions = ValuesOf<typeof schemaOptions>;

/** The options of `automate nodes`. */
export const nodesOptions = {
  refresh: flag('--refresh', 'request the current list of tools from the MCP servers'),
  env: envOption('with --refresh: '),
  cacert: cacertOption('with --refresh: '),
};

/** The values of the options of `automate nodes`. */
export type NodesOptions = ValuesOf<typeof nodesOptions>;
