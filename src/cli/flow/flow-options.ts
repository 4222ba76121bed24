import { fileName, inputName, reportName } from '../arguments.ts';
import { flag, parsedOption, textOption, type ValuesOf } from '../options.ts';
import { cacertOption, envOption, httpOptions, inputOptions, inputsOption, varOption } from '../shared-options.ts';

/** The options of `automate validate`. */
export const validateOptions = {
  in: inputsOption('check the references to fields against the columns of this file'),
  offline: flag('--offline', 'ask no server, keychain or vault; a credential that is in no variable is a warning'),
  var: varOption,
  ...httpOptions,
  ...inputOptions,
};

/** The values of the options of `automate validate`. */
export type ValidateOptions = ValuesOf<typeof validateOptions>;

/** The options of `automate init`. */
export const initOptions = {
  fromCurl: textOption('--from-curl <command>', 'start from a curl command, or - to read it from stdin; secrets are left out'),
  fromOpenapi: textOption('--from-openapi <file>', 'start from an operation of an OpenAPI 3.0 or 3.1 file, JSON or YAML'),
  operation: textOption('--operation <id>', 'for --from-openapi: its operationId, or such as "GET /pets/{petId}"'),
  in: parsedOption('--in <file>', inputName, 'use the fields of this file, or - for stdin', { short: 'i' }),
  schema: parsedOption('--schema <file>', fileName, 'name the JSON Schema, from automate schema --out, in the flow: editors check it'),
  force: flag('--force', 'overwrite an existing flow', { short: 'f' }),
  ...inputOptions,
};

/** The values of the options of `automate init`. */
export type InitOptions = ValuesOf<typeof initOptions>;

/** The options of `automate schema`. */
export const schemaOptions = {
  out: parsedOption('--out <file>', reportName, 'write it to this file, in place of an older JSON Schema', { short: 'o' }),
};

/** The values of the options of `automate schema`. */
export type SchemaOptions = ValuesOf<typeof schemaOptions>;

/** The options of `automate nodes`. */
export const nodesOptions = {
  refresh: flag('--refresh', 'ask the MCP servers for their tools'),
  env: envOption('for --refresh: '),
  cacert: cacertOption('for --refresh: '),
};

/** The values of the options of `automate nodes`. */
export type NodesOptions = ValuesOf<typeof nodesOptions>;
