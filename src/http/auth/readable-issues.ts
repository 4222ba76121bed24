import { excerpt } from '../../core/answer/response.ts';

/** Replaces a JSON list of validation errors in the SDK's message by readable text with `path: problem` for each error. */
export function withReadableIssues(message: string): string {
  const start = message.search(/\[\s*\{\s*"/);
  if (start < 0) return excerpt(message, 300);
  return excerpt(`${message.slice(0, start)}${issuesIn(message.slice(start)) || 'the answer is not a valid MCP message'}`, 300);
}

function issuesIn(text: string): string {
  try {
    const issues = JSON.parse(text) as { code: string; path: unknown[]; message: string }[];
    const single = issues.filter(({ code }) => code !== 'invalid_union');
    return single.map(({ path, message }) => `${path.join('.')}: ${message.replace(/^Invalid input: /, '')}`).join('; ');
  } catch {
    return '';
  }
}
