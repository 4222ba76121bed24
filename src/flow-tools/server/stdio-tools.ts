import type { Readable, Writable } from 'node:stream';
import type { JSONRPCMessage, Server } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { ExactLines } from './exact-lines.ts';
import { createToolServer } from './tool-server.ts';
import type { Toolbox } from './toolbox.ts';

/** The streams and settings of an MCP server that communicates over stdin and stdout. */
export interface StdioToolsOptions {
  readonly toolbox: Toolbox<undefined>;
  readonly version: string;
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** Called with a message for each line of stdin that is ignored. */
  say(text: string): void;
}

/** A running MCP server that communicates over stdin and stdout. */
export interface StdioTools {
  /**
   * Resolves once the client has disconnected or the server has been closed. Rejects with an AutomateError (`input`) if a message is too
   * long.
   */
  readonly ended: Promise<void>;
  /** Tells the client that the list of tools has changed. */
  toolsChanged(): void;
  close(): Promise<void>;
}

/** The error code of JSON-RPC 2.0 for a message that is not a valid request. */
const invalidRequest = -32600;

/** Starts an MCP server that communicates over stdin and stdout. */
export function serveToolsOverStdio({ toolbox, version, stdin, stdout, say }: StdioToolsOptions): StdioTools {
  const lines = new ExactLines(say, (message) => {
    // JSON-RPC 2.0, section 5: the answer to a request whose id is not valid has the id null.
    stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: invalidRequest, message } })}\n`);
  });
  const transport = new AnswerTransport(lines, stdout);
  const servers = new Set<Server>();
  const handle = serveStdio(
    () => {
      const server = createToolServer({
        ...{ toolbox, version, callerOf: () => undefined },
        sentArguments: ({ mcpReq }) => lines.sentArguments(mcpReq.id),
      });
      servers.add(server);
      server.onclose = () => servers.delete(server);
      return server;
    },
    { transport, onerror: () => undefined },
  );
  stdin.on('error', () => lines.end());
  stdin.pipe(lines);
  const ended = new Promise<void>((resolve, reject) => {
    lines.once('error', reject).once('end', resolve).once('close', resolve);
    stdout.once('error', () => resolve());
  });
  return {
    ended,
    toolsChanged() {
      for (const server of servers) server.sendToolListChanged().catch(() => undefined);
    },
    async close() {
      await handle.close();
      stdin.unpipe(lines).pause();
      lines.destroy();
    },
  };
}

/** A transport for stdout that tells the input stream which requests have been answered. */
class AnswerTransport extends StdioServerTransport {
  readonly #lines: ExactLines;

  constructor(lines: ExactLines, stdout: Writable) {
    // `lines` limits the length of messages. The SDK's own limit is turned off, because the SDK would close the connection without an error
    // message.
    super(lines, stdout, { maxBufferSize: Number.POSITIVE_INFINITY });
    this.#lines = lines;
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    await super.send(message);
    if ('id' in message && !('method' in message)) this.#lines.answered(message.id);
  }
}
