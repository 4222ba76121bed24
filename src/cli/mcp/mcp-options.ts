import type { GivenVariables } from '../../core/run-options.ts';
import { flag } from '../options.ts';
import { file, httpOptions, varOption } from '../shared-options.ts';

/** The options of `automate mcp`. */
export const mcpOptions = {
  printConfig: flag('--print-config', 'print the JSON that adds this server to a desktop client, and exit'),
  var: varOption,
  ...httpOptions,
  files: file('--files <dir>', 'folder below which flows can send and save files (default: none)'),
};

/** The values of the options of `automate mcp`. */
export interface McpCommandOptions {
  readonly printConfig?: boolean;
  readonly var: GivenVariables;
  readonly env?: string;
  readonly allowHttp?: boolean;
  readonly cacert?: string;
  readonly files?: string;
}
