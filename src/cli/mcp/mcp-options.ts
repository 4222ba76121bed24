import type { GivenVariables } from '../../app/flow/flow-file.ts';
import { flag } from '../options.ts';
import { file, httpOptions, varOption } from '../shared-options.ts';

/** The options of `automate mcp`. */
export const mcpOptions = {
  printConfig: flag('--print-config', 'print the JSON that desktop clients want, and end'),
  var: varOption,
  ...httpOptions,
  files: file('--files <dir>', 'let flows send and save files below this folder (default: none may)'),
};

/** The options of `automate mcp`, as they were given. */
export interface McpOptions {
  readonly printConfig?: boolean;
  readonly var: GivenVariables;
  readonly env?: string;
  readonly allowHttp?: boolean;
  readonly cacert?: string;
  readonly files?: string;
}
