import { basename, resolve } from 'node:path';
import type { JsonObject } from '../../core/value/value.ts';
import type { McpCommandOptions } from './mcp-options.ts';

/**
 * Returns the settings with which a desktop client starts this MCP server. All paths are absolute, because clients start the server in
 * another folder and without a shell's PATH. `dir` is the absolute path of the folder with the flows.
 */
export function clientConfig(dir: string, options: McpCommandOptions): JsonObject {
  const [node, script = ''] = process.argv;
  const { AUTOMATE_HOME: home, AUTOMATE_VAULT_PASSPHRASE_FILE: passphrase, AUTOMATE_ENV: env } = process.env;
  const variables = {
    ...(home && { AUTOMATE_HOME: resolve(home) }),
    ...(passphrase && { AUTOMATE_VAULT_PASSPHRASE_FILE: resolve(passphrase) }),
    ...(env && options.env === undefined && { AUTOMATE_ENV: env }),
  };
  const server = {
    command: node ?? 'node',
    args: [script, 'mcp', dir, ...optionWords(options)],
    ...(Object.keys(variables).length > 0 && { env: variables }),
  };
  return { mcpServers: { [basename(dir) || 'flows']: server } };
}

function optionWords({ var: given, env, allowHttp, cacert, files }: McpCommandOptions): string[] {
  return [
    ...given.flatMap(([name, value]) => ['--var', `${name}=${value}`]),
    ...(env === undefined ? [] : ['--env', env]),
    ...(allowHttp ? ['--allow-http'] : []),
    ...(cacert === undefined ? [] : ['--cacert', resolve(cacert)]),
    ...(files === undefined ? [] : ['--files', resolve(files)]),
  ];
}
