// The MCP server, as one file.
export { toNodeHandler } from '@modelcontextprotocol/node';
export * from '@modelcontextprotocol/server';
export { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
