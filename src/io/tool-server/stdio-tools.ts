import type { Readable, Writable } from 'node:stream';
import type { JSONRPCMessage, Server } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { ExactLines } from './exact-lines.ts';
import { createToolServer } from './tool-server.ts';
import type { Toolbox } from './toolbox.ts';

/** The streams and settings of a server over stdio. */
export interface StdioToolsOptions {
  readonly toolbox: Toolbox<undefined>;
  readonly version: string;
  readonly stdin: Readable;
  readonly stdout: Writable;
}

/** An MCP server over stdin and stdout. */
export interface StdioTools {
  /** Resolves once the client has gone, and once the server is closed. */
  readonly ended: Promise<void>;
  /** Tells the client that the tools are others now. */
  toolsChanged(): void;
  close(): Promise<void>;
}

/** Serves tools over stdin and stdout. */
export function serveToolsOverStdio({ toolbox, version, stdin, stdout }: StdioToolsOptions): StdioTools {
  const lines = new ExactLines();
  const transport = new AnswerTransport(lines, stdout);
  const servers = new Set<Server>();
  const handle = serveStdio(
    () => {
      const server = createToolServer({ toolbox, version, callerOf: () => undefined });
      servers.add(server);
      server.onclose = () => servers.delete(server);
      return server;
    },
    { transport, onerror: () => undefined },
  );
  stdin.on('error', () => lines.end());
  stdin.pipe(lines);
  const ended = new Promise<void>((resolve) => {
    lines.once('end', resolve).once('close', resolve);
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

/** A transport over stdout that tells which requests are answered. */
class AnswerTransport extends StdioServerTransport {
  readonly #lines: ExactLines;

  constructor(lines: ExactLines, stdout: Writable) {
    super(lines, stdout);
    this.#lines = lines;
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    await super.send(message);
    if ('id' in message && !('method' in message)) this.#lines.answered(message.id);
  }
}
