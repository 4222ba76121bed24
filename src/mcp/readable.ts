import type { JSONRPCErrorResponse, JSONRPCMessage } from '@modelcontextprotocol/client';
import { excerpt } from '../core/answer/response.ts';
import { isMapping, orUndefined } from '../core/value/value.ts';
import type { Fetch } from '../http/fetch.ts';

/** The code of the error that replaces an answer that cannot be read. It is outside the range that JSON-RPC reserves. */
export const unreadableCode = -31_000;

type Id = string | number;

/**
 * Reads a message of a server. `null` for an optional member counts as absent, as many servers write it, and a response that is no response
 * becomes an error with what came: otherwise, the SDK would drop it, and the call would wait for its timeout. `asked` is the id of the only
 * request that a response without an id can belong to. Returns undefined for anything else that is not a message.
 */
export function readableMessage(found: unknown, asked?: Id): JSONRPCMessage | undefined {
  if (!isMapping(found)) return undefined;
  const { method, id, params } = found;
  if (typeof method === 'string')
    return 'jsonrpc' in found ? (withoutNulls({ ...found, params: params ?? undefined }) as unknown as JSONRPCMessage) : undefined;
  const own = typeof id === 'number' || typeof id === 'string' ? id : asked;
  return own === undefined ? undefined : (readableResponse(found, own) ?? unreadable(own, JSON.stringify(found)));
}

function readableResponse({ jsonrpc, result, error }: Readonly<Record<string, unknown>>, id: Id): JSONRPCMessage | undefined {
  if (jsonrpc !== '2.0') return undefined;
  if (error === undefined || error === null)
    return isMapping(result) ? ({ jsonrpc, id, result: readableResult(result) } as unknown as JSONRPCMessage) : undefined;
  if (!isMapping(error) || typeof error.message !== 'string') return undefined;
  const code = Number(error.code ?? Number.NaN);
  return { jsonrpc, id, error: { ...error, code: Number.isSafeInteger(code) ? code : -32_000, message: error.message } };
}

/** Returns the error that takes the place of an answer that cannot be read. */
export function unreadable(id: Id, text: string): JSONRPCErrorResponse {
  return { jsonrpc: '2.0', id, error: { code: unreadableCode, message: `expected an answer to the call, found ${excerpt(text)}` } };
}

/** Members whose values are data, in which null has a meaning. Those of a schema, such as default, are deeper than its own members. */
const data: ReadonlySet<string> = new Set(['structuredContent', 'data', '_meta', 'arguments', 'properties']);

function withoutNulls(value: unknown, depth = 0): unknown {
  if (Array.isArray(value)) return value.map((one) => withoutNulls(one, depth + 1));
  if (!isMapping(value) || depth > maxDepth) return value;
  const members = Object.entries(value).filter(([name, member]) => member !== undefined && (member !== null || name === 'data'));
  return Object.fromEntries(members.map(([name, member]) => [name, data.has(name) ? member : withoutNulls(member, depth + 1)]));
}

/** Maximum depth at which nulls are removed. The members of the protocol are less deep. */
const maxDepth = 10;

/** Go writes null for an empty list of tools, and some servers write no schema for a tool without arguments. */
function readableResult(result: Readonly<Record<string, unknown>>): unknown {
  const { tools } = result;
  if (!('tools' in result) || !(tools === null || Array.isArray(tools))) return withoutNulls(result);
  const list = (tools ?? []).map((tool: unknown) => (isMapping(tool) ? { ...tool, inputSchema: schemaOf(tool.inputSchema) } : tool));
  return withoutNulls({ ...result, tools: list });
}

function schemaOf(written: unknown): unknown {
  if (written === undefined || written === null) return { type: 'object' };
  return isMapping(written) ? { type: 'object', ...withoutNullMembers(written) } : written;
}

function withoutNullMembers(schema: object): object {
  return Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== null));
}

/** Wraps a fetch so that each message in an answer can be read. `askedOf` returns the id of the request in a body, if it is one. */
export function readableFetch(fetch: Fetch, askedOf: (body: string) => Id | undefined): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    const type = response.headers.get('content-type') ?? '';
    const asked = init?.method === 'POST' ? askedOf(String(init.body)) : undefined;
    if (!response.ok || !response.body) return response;
    const replacedBy = (body: BodyInit) => {
      const { status, statusText, headers } = response;
      return new Response(body, { status, statusText, headers });
    };
    if (type.includes('text/event-stream')) {
      return replacedBy(
        response.body.pipeThrough(new TextDecoderStream()).pipeThrough(eachEvent(asked)).pipeThrough(new TextEncoderStream()),
      );
    }
    return asked !== undefined && type.includes('json') ? replacedBy(readableBody(await response.text(), asked)) : response;
  };
}

/** Text that is no JSON is left to the SDK, which says so at once. */
function readableBody(text: string, asked: Id): string {
  const found = orUndefined(() => JSON.parse(text) as unknown);
  if (found === undefined) return text;
  const messages = Array.isArray(found) && found.length > 0 ? found : [found];
  return JSON.stringify(messages.map((one) => readableMessage(one, asked) ?? unreadable(asked, JSON.stringify(one))));
}

/** Passes events on as soon as they are complete. */
function eachEvent(asked: Id | undefined): TransformStream<string, string> {
  let pieces: string[] = [];
  return new TransformStream({
    transform(chunk, controller) {
      pieces.push(chunk);
      if (!/[\r\n]/.test(chunk)) return;
      const events = pieces.join('').split(/(?<=\r\n\r\n|\n\n|\r\r)/);
      const last = events.at(-1) as string;
      const isComplete = /(?:\r\n\r\n|\n\n|\r\r)$/.test(last);
      pieces = isComplete ? [] : [events.pop() as string];
      for (const event of events) controller.enqueue(readableEvent(event, asked));
    },
    flush(controller) {
      controller.enqueue(pieces.join(''));
    },
  });
}

function readableEvent(event: string, asked: Id | undefined): string {
  const lines = event.split(/\r\n|\n|\r/);
  const type = lines.find((line) => line.startsWith('event:'))?.slice('event:'.length);
  const text = lines.flatMap((line) => (line.startsWith('data:') ? line.slice('data:'.length) : [])).join('\n');
  if (text.trim() === '' || (type !== undefined && type.trim() !== 'message')) return event;
  const found = orUndefined(() => JSON.parse(text) as unknown);
  // Text such as "ping" keeps a connection open, but JSON was meant to be an answer.
  const isJson = found !== undefined || /^\s*[[{]/.test(text);
  const message = readableMessage(found, asked) ?? (asked !== undefined && isJson ? unreadable(asked, text) : undefined);
  if (!message) return event;
  const others = lines.filter((line) => line !== '' && !line.startsWith('data:'));
  return `${[...others, `data: ${JSON.stringify(message)}`].join('\n')}\n\n`;
}
