// The MCP client, as one file.
export * from '@modelcontextprotocol/client';
export { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
export { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv';
