import { valueAt } from '../../core/answer/path.ts';
import type { Auth } from '../../core/auth/auth.ts';
import { isObject, type JsonObject, type Value } from '../../core/value/value.ts';

export interface Turn {
  readonly role: 'user' | 'assistant';
  readonly text: string;
}

/** Settings of a language model that are sent only if the flow sets them. */
interface Tuning {
  readonly temperature?: number;
  readonly top_p?: number;
  readonly seed?: number;
  readonly effort?: string;
}

/** The names that Chat Completions servers use for the maximum length of an answer. */
export const maxTokensNames = ['max_completion_tokens', 'max_tokens'] as const;

export interface ModelQuestion extends Tuning {
  readonly model: string;
  readonly system: string | undefined;
  readonly turns: readonly Turn[];
  readonly maxTokens: number;
  readonly maxTokensName: (typeof maxTokensNames)[number];
  /** The JSON Schema of the answer; undefined if the answer may be any text. */
  readonly schema: JsonObject | undefined;
  /** True if the server should force the model to follow the schema. */
  readonly isStrict: boolean;
  readonly cachesPrompt: boolean;
}

/** `broken` means that the server ended the answer early because of an error of its own. */
export type Finish = 'stop' | 'length' | 'refusal' | 'broken' | 'other';

/** `input` includes cached tokens. */
export interface TokenUsage {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
}

interface ModelAnswer {
  /** The text of the answer; undefined if the body contains no text from a model. */
  readonly text: string | undefined;
  /** The tool that the model wants to call, and its arguments as an object or as JSON text. Undefined if it calls none. */
  readonly toolCall?: { readonly name: string; readonly arguments: Value };
  readonly finish: Finish;
  readonly model: string | undefined;
  readonly usage: TokenUsage;
}

/** The reason why every other question would be refused, too: no money, a refused key, or a daily quota that is used up. */
export type HopelessRefusal = 'no-money' | 'refused-key' | 'day-quota';

export interface Provider {
  readonly baseUrl: string;
  /** The default name of the credential; undefined if none is needed. */
  readonly credential: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly lacks: readonly (keyof Tuning | 'prompt_cache' | 'max_tokens_name' | 'strict')[];
  auth(credential: string): Auth;
  path(model: string): string;
  body(question: ModelQuestion): JsonObject;
  answer(body: Value): ModelAnswer;
  /** Returns advice about a refusal; undefined if the server's message is sufficient. */
  advice?(status: number, body: Value, question: Pick<ModelQuestion, 'maxTokensName'>): string | undefined;
  hopelessness?(status: number, body: Value): HopelessRefusal | undefined;
  /** Returns the wait in ms that the body of a refusal asks for; undefined if it asks for none. */
  waitMs?(body: Value): number | undefined;
}

export function textAt(body: Value | undefined, ...steps: (string | number)[]): string | undefined {
  const value = valueAt(body, steps);
  return typeof value === 'string' ? value : undefined;
}

/** 0 if there is none. */
export function countAt(body: Value | undefined, ...steps: (string | number)[]): number {
  const value = valueAt(body, steps);
  return typeof value === 'number' ? value : 0;
}

/** Empty if there is none. */
export function listAt(body: Value | undefined, ...steps: (string | number)[]): readonly Value[] {
  const value = valueAt(body, steps);
  return Array.isArray(value) ? value : [];
}

export function joinedText(parts: readonly Value[], member = 'text'): string | undefined {
  const texts = parts.flatMap((part) => textAt(part, member) ?? []);
  return texts.length > 0 ? texts.join('') : undefined;
}

const textTypes: ReadonlySet<string> = new Set(['text', 'output_text']);

/**
 * Returns the text of a message's content, which servers send as a string, as a part or as a list of parts. Parts with the model's thinking
 * (Mistral, Gemini) and parts that are no text, such as references, are left out.
 */
export function spokenText(content: Value | undefined): string | undefined {
  if (typeof content === 'string') return content;
  const parts = Array.isArray(content) ? content : [content ?? null];
  const texts = parts.flatMap((part) => {
    if (typeof part === 'string') return part;
    if (!isObject(part) || part.thought === true || !textTypes.has(textAt(part, 'type') ?? 'text')) return [];
    return textAt(part, 'text') ?? textAt(part, 'text', 'value') ?? [];
  });
  return texts.length > 0 ? texts.join('') : undefined;
}

/** Returns the only tool call of a list. The call is in `member` of its element, or it is the element itself. */
export function onlyCall(calls: readonly Value[], member?: string): ModelAnswer['toolCall'] {
  const [call, ...others] = member === undefined ? calls : calls.map((one) => valueAt(one, [member]) ?? null);
  const name = textAt(call, 'name');
  if (name === undefined || others.length > 0 || !isObject(call)) return undefined;
  return { name, arguments: call.arguments ?? call.input ?? call.args ?? null };
}

export function present(members: Readonly<Record<string, Value | undefined>>): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as JsonObject;
}

/** Returns the conversation as a list of messages, in the form that most protocols use. */
export function messagesOf({ system, turns }: ModelQuestion): JsonObject[] {
  const spoken = turns.map(({ role, text }) => ({ role, content: text }));
  return system === undefined ? spoken : [{ role: 'system', content: system }, ...spoken];
}
