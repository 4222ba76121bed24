import { nodeText, summaryOf } from '../../connections/tool-node.ts';
import { excerpt } from '../../core/answer/response.ts';
import { readConnections } from '../../credentials/connections-file.ts';
import { cachedServer } from '../../mcp/tool-cache.ts';
import { nodeTypes } from '../../run/node-types.ts';
import type { Library } from './page-shapes.ts';

/** Returns the node types, and the tools of each MCP connection as of the last time they were fetched. */
export function libraryOf(): Library {
  return { node_types: nodeTypes.map(({ name, summary, example }) => ({ name, summary, yaml: example })), connections: connectionsOf() };
}

function connectionsOf(): Library['connections'] {
  const saved = Object.entries(readConnections(process.env)).filter(([, { type }]) => type === 'mcp');
  return saved.map(([name, written]) => {
    const cached = cachedServer(process.env, name, written);
    if (!cached) return { name, problem: 'its tools are not fetched yet: test the connection', tools: [] };
    const tools = cached.server.tools.map((tool) => ({
      name: excerpt(tool.name, 80),
      summary: summaryOf(tool),
      yaml: nodeText(name, tool),
    }));
    return { name, problem: null, tools };
  });
}
