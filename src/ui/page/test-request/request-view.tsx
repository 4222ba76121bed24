import { CodeBlock } from '../frame/feedback.tsx';

/** The server has masked the secrets. */
type ShownRequest = Readonly<Record<string, unknown>>;

export function RequestView({ request }: { readonly request: ShownRequest }) {
  return <CodeBlock text={requestText(request)} label="Request" />;
}

/** Formats a request as HTTP text. A request without a URL, such as a tool call, is formatted as JSON. @internal */
export function requestText(request: ShownRequest): string {
  const { method = 'GET', url, headers = {}, body } = request;
  if (url === undefined) return JSON.stringify(request, null, 2);
  const lines = [`${method} ${url}`, ...headerLines(headers as ShownRequest)];
  if (body === null || body === undefined) return lines.join('\n');
  return [...lines, '', typeof body === 'string' ? body : JSON.stringify(body, null, 2)].join('\n');
}

export function headerLines(headers: ShownRequest): string[] {
  return Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`);
}
