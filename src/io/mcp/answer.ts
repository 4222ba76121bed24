import type { CallToolResult } from '@modelcontextprotocol/client';
import { Failure } from '../../core/failure.ts';
import type { ToolAnswer } from '../../core/tools/tools.ts';
import { isNestedTooDeep, parseJson, tooDeep } from '../../core/value/json.ts';
import { isObject, type JsonObject, orUndefined, type Value } from '../../core/value/value.ts';

/**
 * Converts an answer to the body that a map reads: structuredContent, else the text as JSON, else `{ text }`, plus links and files. Throws
 * a Failure (`parse`).
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

/** Restores digits that JSON.parse has lost: most servers repeat structuredContent as text. */
function withAllDigits(structured: Value, text: string): Value {
  const json = JSON.stringify(structured);
  if (!/\d{16}|\de[+-]?\d/.test(json)) return structured;
  return orUndefined(() => (JSON.stringify(JSON.parse(text)) === json ? parseJson(text) : undefined)) ?? structured;
}

/**
 * The value of texts that are JSON objects or lists: of one text its value, of several texts a list of their values. `42` stays a text:
 * the next answer may be `none`.
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

/** The links, resources, images and sounds of an answer: a list for each kind in the answer. */
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
