// What libraries would print goes past the masking of secrets, and could steer a terminal: the MCP client warns with names of tools in it.
export function silentConsole() {}
