import type { CallToolResult } from '@modelcontextprotocol/client';
import { Failure } from '../../core/failure.ts';
import type { ToolAnswer } from '../../core/tools/tools.ts';
import { isNestedTooDeep, parseJson, tooDeep } from '../../core/value/json.ts';
import { isObject, type JsonObject, type Value } from '../../core/value/value.ts';

/** An answer as a map reads it: structuredContent, else the text as JSON, else `{ text }`, with the links and files that stand beside it. Throws a Failure (`parse`). */
export function toAnswer({ isError = false, content = [], structuredContent }: CallToolResult): ToolAnswer {
  if (isNestedTooDeep(structuredContent ?? content)) throw new Failure('parse', `the answer is ${tooDeep}`);
  const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  const text = texts.join('\n');
  const told = { kind: 'tool', isError, text } as const;
  if (structuredContent !== undefined) return { ...told, body: withDigits(structuredContent as Value, text) };
  const others = besideText(content);
  const parsed = jsonOf(texts);
  if (parsed === undefined) return { ...told, body: { text, ...others } };
  return { ...told, body: isObject(parsed) ? { ...others, ...parsed } : parsed };
}

/** Most servers say the same as text, where no digit of a number is lost. */
function withDigits(structured: Value, text: string): Value {
  const said = JSON.stringify(structured);
  if (!/\d{16}|\de[+-]?\d/.test(said)) return structured;
  try {
    return JSON.stringify(JSON.parse(text)) === said ? parseJson(text) : structured;
  } catch {
    return structured;
  }
}

/** An object or a list; several texts that are one each are a list of them. A text such as `42` stays a text: the next one may be `none`. */
function jsonOf(texts: readonly string[]): Value | undefined {
  const whole = containerOf(texts.join('\n'));
  if (whole !== undefined || texts.length < 2) return whole;
  const each = texts.map(containerOf);
  return each.every((one) => one !== undefined) ? (each as Value[]) : undefined;
}

function containerOf(text: string): Value | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** The links, resources, images and sounds of an answer, each kind a list; none of those that it does not have. */
function besideText(content: CallToolResult['content']): JsonObject {
  const others: Record<string, Value[]> = {};
  for (const block of content) {
    if (block.type === 'text') continue;
    const { type, _meta, annotations: _annotations, ...rest } = block as { type: string; _meta?: unknown; annotations?: unknown };
    const name = lists[type] ?? 'others';
    others[name] ??= [];
    others[name].push((type === 'resource' ? (rest as { resource: Value }).resource : rest) as Value);
  }
  return others;
}

const lists: Readonly<Record<string, string>> = { resource_link: 'links', resource: 'resources', image: 'images', audio: 'audio' };
