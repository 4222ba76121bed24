import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AppOptions } from './app.ts';
import { pathWithoutKeys } from './store/key-value.ts';

/** Logs requests, without API keys, bodies, fields or queries. */
interface RequestLog extends Pick<AppOptions, 'answered' | 'bug'> {
  flush(): void;
}

/** `write` receives all lines of one turn of the event loop at once. */
export function createLog(form: 'text' | 'json', write: (lines: string) => void): RequestLog {
  let lines: string[] = [];
  const flush = () => {
    if (lines.length > 0) write(lines.join('\n'));
    lines = [];
  };
  const add = (line: string) => {
    if (lines.length === 0) setImmediate(flush);
    lines.push(line);
  };
  return {
    flush,
    answered(request, reply) {
      const entry = logEntry(request, reply);
      add(form === 'json' ? JSON.stringify(entry) : logLine(entry));
    },
    bug(error, request) {
      const stack = (error as Error)?.stack ?? String(error);
      add(
        form === 'json'
          ? JSON.stringify({ time: new Date().toISOString(), bug: stack, request: request.id })
          : `bug: ${request.id}: ${stack}`,
      );
    },
  };
}

type LogEntry = ReturnType<typeof logEntry>;

function logEntry(request: FastifyRequest, reply: FastifyReply) {
  return {
    time: new Date().toISOString(),
    method: request.method,
    path: pathWithoutKeys(request.url.split('?')[0] as string),
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime),
    bytes: Number(reply.getHeader('content-length') ?? 0),
    key: request.key?.id ?? null,
    request: request.id,
  };
}

/** The path is percent-encoded, so it contains no line break. */
function logLine({ time, method, path, status, ms, bytes, key, request }: LogEntry): string {
  return `${time} ${method} ${path} ${status} ${ms} ms ${bytes} B ${key ?? '-'} ${request}`;
}
