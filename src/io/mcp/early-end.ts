import type { JSONRPCMessage, JSONRPCRequest, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Failure } from '../../core/failure.ts';
import { type Fetch, messageTooLong } from '../http/fetch.ts';

/** A transport whose client hears at once that the stream of an answer has ended without the answer: it would wait for the whole time. */
export function failOnEarlyEnd(transport: StreamableHTTPClientTransport, connection: string): StreamableHTTPClientTransport {
  const send = transport.send.bind(transport);
  let lastError = '';
  transport.onerror = ({ message }) => {
    lastError = message;
  };
  transport.send = (message, options) => {
    if (!isRequest(message) || options?.onRequestStreamEnd) return send(message, options);
    // After the answer nobody waits for this one any more.
    const onRequestStreamEnd = () => {
      const cause = endOf(connection, lastError);
      lastError = '';
      transport.onmessage?.({ jsonrpc: '2.0', id: message.id, error: { code: -32_000, message: cause.message, data: { cause } } });
    };
    return send(message, { ...options, onRequestStreamEnd });
  };
  return transport;
}

/** A fetch that fails where a call is taken as if it were only a note: its answer would never come. */
export function answering(fetch: Fetch): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.status !== 202 || init?.method !== 'POST' || !isRequest(jsonOf(String(init.body)))) return response;
    await response.body?.cancel().catch(() => undefined);
    throw new Failure('parse', 'the server answered 202, as if no answer were expected');
  };
}

/** The client tells of the end of a stream right before it ends. */
function endOf(connection: string, lastError: string): Failure {
  if (lastError.includes(messageTooLong)) return new Failure('parse', messageTooLong);
  return new Failure('network', `the MCP server "${connection}" ended the connection before its answer`, { retryable: true });
}

/** Whoever asks for a token sends no JSON. */
function jsonOf(text: string): JSONRPCMessage {
  return JSON.parse(text.startsWith('{') ? text : '{}');
}

function isRequest(message: JSONRPCMessage | JSONRPCMessage[]): message is JSONRPCRequest {
  return 'method' in message && 'id' in message;
}
