import { CodeBlock } from '../frame/copy.tsx';

/** A rendered request, with its secrets masked. */
type SentRequest = Readonly<Record<string, unknown>>;

/** Shows a request as it is sent. */
export function RequestView({ request }: { readonly request: SentRequest }) {
  return <CodeBlock text={requestText(request)} label="Request" />;
}

/** Writes a request as HTTP does. A request without a URL, such as a tool call, is written as JSON. */
export function requestText(request: SentRequest): string {
  const { method = 'GET', url, headers = {}, body } = request;
  if (url === undefined) return JSON.stringify(request, null, 2);
  const lines = [`${method} ${url}`, ...headerLines(headers as SentRequest)];
  if (body === null || body === undefined) return lines.join('\n');
  return [...lines, '', typeof body === 'string' ? body : JSON.stringify(body, null, 2)].join('\n');
}

/** The headers, one a line. */
export function headerLines(headers: SentRequest): string[] {
  return Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`);
}
