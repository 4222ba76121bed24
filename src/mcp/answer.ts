import type { CallToolResult } from '@modelcontextprotocol/client';
import { Failure } from '../core/failure.ts';
import type { ToolAnswer } from '../core/tools.ts';
import { isNestedTooDeep, parseJson, tooDeep } from '../core/value/json.ts';
import { isObject, type JsonObject, orUndefined, type Value } from '../core/value/value.ts';

/**
 * Converts a tool's result to the body that paths in the flow refer to. This is the result's structuredContent or, if it has none, its
 * text. The text is parsed as JSON if possible, and otherwise wrapped as `{ text }`. Links and files in the result are added. Throws a
 * Failure (`parse`) if the result is nested too deeply.
 */
export function toAnswer({ isError = false, content = [], structuredContent }: CallToolResult): ToolAnswer {
  if (isNestedTooDeep(structuredContent ?? content)) throw new Failure('parse', `the answer is ${tooDeep}`);
  const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  const text = texts.join('\n');
  const answer = { kind: 'tool', isError, text } as const;
  if (structuredContent !== undefined) return { ...answer, body: withAllDigits(structuredContent as Value, text) };
  const others = besideText(content);
  const parsed = jsonOf(texts);
  if (parsed === undefined) return { ...answer, body: { text, ...others } };
  return { ...answer, body: isObject(parsed) ? { ...others, ...parsed } : parsed };
}

/**
 * Restores the digits of numbers that JSON.parse has rounded. Most servers repeat structuredContent as JSON in the result's text, which
 * contains all digits.
 */
function withAllDigits(structured: Value, text: string): Value {
  const json = JSON.stringify(structured);
  if (!/\d{16}|\de[+-]?\d/.test(json)) return structured;
  return orUndefined(() => (JSON.stringify(JSON.parse(text)) === json ? parseJson(text) : undefined)) ?? structured;
}

/**
 * Parses the text parts of a result as JSON objects or arrays. Returns the value if there is one JSON document, or an array with all values
 * if there are several. Returns undefined for any other text. This includes a number such as `42`, because the same tool may return `none`
 * next time.
 */
function jsonOf(texts: readonly string[]): Value | undefined {
  const whole = containerOf(texts.join('\n'));
  if (whole !== undefined || texts.length < 2) return whole;
  const each = texts.map(containerOf);
  return each.every((one) => one !== undefined) ? (each as Value[]) : undefined;
}

function containerOf(text: string): Value | undefined {
  return /^\s*[[{]/.test(text) ? orUndefined(() => parseJson(text)) : undefined;
}

/** Returns everything in a tool's result except its text: links, resources, images and audio, each in a separate array. */
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
