import type { JSONRPCMessage, JSONRPCRequest, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Failure } from '../core/failure.ts';
import { type Fetch, messageTooLong } from '../http/fetch.ts';

/**
 * Makes a tool call fail as soon as its response stream ends without a result. Without this, the SDK would wait until the call times out.
 */
export function failOnEarlyEnd(transport: StreamableHTTPClientTransport, connection: string): StreamableHTTPClientTransport {
  const send = transport.send.bind(transport);
  let lastError = '';
  transport.onerror = ({ message }) => {
    lastError = message;
  };
  transport.send = (message, options) => {
    if (!isRequest(message) || options?.onRequestStreamEnd) return send(message, options);
    // Reports the failure of the request. If the result has already arrived, the client ignores this message.
    const onRequestStreamEnd = () => {
      const cause = endFailure(connection, lastError);
      lastError = '';
      transport.onmessage?.({ jsonrpc: '2.0', id: message.id, error: { code: -32_000, message: cause.message, data: { cause } } });
    };
    return send(message, { ...options, onRequestStreamEnd });
  };
  return transport;
}

/** Wraps a fetch so that a call fails if the server responds with status 202, which means that no result will follow. */
export function failOn202(fetch: Fetch): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.status !== 202 || init?.method !== 'POST' || !isRequest(parseBody(String(init.body)))) return response;
    await response.body?.cancel().catch(() => undefined);
    throw new Failure('parse', 'the server answered 202, as if no answer were expected');
  };
}

/** Creates the Failure for a response stream that ended without a result. `lastError` is the last error message of the SDK. */
function endFailure(connection: string, lastError: string): Failure {
  if (lastError.includes(messageTooLong)) return new Failure('parse', messageTooLong);
  return new Failure('network', `the MCP server "${connection}" closed the connection before it answered`, { retryable: true });
}

/** Parses the JSON-RPC message in a request body. Returns an empty object for a token request, whose body is form-encoded. */
function parseBody(text: string): JSONRPCMessage {
  return JSON.parse(text.startsWith('{') ? text : '{}');
}

function isRequest(message: JSONRPCMessage | JSONRPCMessage[]): message is JSONRPCRequest {
  return 'method' in message && 'id' in message;
}
