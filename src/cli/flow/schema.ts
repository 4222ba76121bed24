import { flowJsonSchema } from '../../flow/json-schema.ts';
import { nodeTypes } from '../../nodes/index.ts';
import { exitCodes } from '../exit.ts';
import type { Terminal } from '../terminal.ts';

/** Prints the JSON Schema of the flow file. Answers the exit code. */
export async function schemaCommand(terminal: Terminal): Promise<number> {
  await terminal.print(JSON.stringify(flowJsonSchema(nodeTypes), null, 2));
  return exitCodes.success;
}
