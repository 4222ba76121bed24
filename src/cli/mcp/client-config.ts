import { basename, resolve } from 'node:path';
import type { JsonObject } from '../../core/value/value.ts';
import type { McpOptions } from './mcp-options.ts';

/**
 * The settings of a desktop client that starts this server. Paths are absolute, because clients start it in another folder and without the
 * PATH of a shell. `dir`: the folder of the flows, absolute.
 */
export function clientConfig(dir: string, options: McpOptions): JsonObject {
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

function optionWords({ var: given, env, allowHttp, cacert, files }: McpOptions): string[] {
  return [
    ...given.flatMap(([name, value]) => ['--var', `${name}=${value}`]),
    ...(env === undefined ? [] : ['--env', env]),
    ...(allowHttp ? ['--allow-http'] : []),
    ...(cacert === undefined ? [] : ['--cacert', resolve(cacert)]),
    ...(files === undefined ? [] : ['--files', resolve(files)]),
  ];
}
