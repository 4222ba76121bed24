import type { McpConnection } from '../../core/tools.ts';
import type { Terminal } from '../terminal.ts';
import type { TestOptions } from './connections.ts';

export async function testMcpCommand(_connection: McpConnection, _options: TestOptions, _terminal: Terminal): Promise<number> {
  return 0;
}
