import type { JSONRPCMessage, JSONRPCRequest, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Failure } from '../../core/failure.ts';
import { type Fetch, messageTooLong } from '../http/fetch.ts';

/** Fails a call as soon as its stream ends without an answer. The SDK would wait for the timeout. */
export function failOnEarlyEnd(transport: StreamableHTTPClientTransport, connection: string): StreamableHTTPClientTransport {
  const send = transport.send.bind(transport);
  let lastError = '';
  transport.onerror = ({ message }) => {
    lastError = message;
  };
  transport.send = (message, options) => {
    if (!isRequest(message) || options?.onRequestStreamEnd) return send(message, options);
    // The client ignores this answer if the real one has come.
    const onRequestStreamEnd = () => {
      const cause = endFailure(connection, lastError);
      lastError = '';
      transport.onmessage?.({ jsonrpc: '2.0', id: message.id, error: { code: -32_000, message: cause.message, data: { cause } } });
    };
    return send(message, { ...options, onRequestStreamEnd });
  };
  return transport;
}

/** Fails a call that the server accepts like a notification (202): its answer would never come. */
export function failOn202(fetch: Fetch): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.status !== 202 || init?.method !== 'POST' || !isRequest(parseBody(String(init.body)))) return response;
    await response.body?.cancel().catch(() => undefined);
    throw new Failure('parse', 'the server answered 202, as if no answer were expected');
  };
}

/** `lastError`: the SDK reports the error of a stream right before its end. */
function endFailure(connection: string, lastError: string): Failure {
  if (lastError.includes(messageTooLong)) return new Failure('parse', messageTooLong);
  return new Failure('network', `the MCP server "${connection}" ended the connection before its answer`, { retryable: true });
}

/** The message in a body. Requests for tokens are forms, which hold no message. */
function parseBody(text: string): JSONRPCMessage {
  return JSON.parse(text.startsWith('{') ? text : '{}');
}

function isRequest(message: JSONRPCMessage | JSONRPCMessage[]): message is JSONRPCRequest {
  return 'method' in message && 'id' in message;
}
