import { valueAt } from '../../core/answer/path.ts';
import type { Auth } from '../../core/auth/auth.ts';
import type { JsonObject, Value } from '../../core/value/value.ts';

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

export type Finish = 'stop' | 'length' | 'refusal' | 'other';

/** `input` includes cached tokens. */
export interface TokenUsage {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
}

interface ModelAnswer {
  /** The text of the answer; undefined if the body contains no text from a model. */
  readonly text: string | undefined;
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
  /** Returns the path to append to the base URL. */
  path(model: string): string;
  body(question: ModelQuestion): JsonObject;
  answer(body: Value): ModelAnswer;
  /** Returns advice about a refusal; undefined if the server's message is sufficient. */
  advice?(status: number, body: Value, question: Pick<ModelQuestion, 'maxTokensName'>): string | undefined;
  /** Undefined if other questions might be answered. */
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

export function present(members: Readonly<Record<string, Value | undefined>>): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as JsonObject;
}

/** Returns the conversation as a list of messages, in the form that most protocols use. */
export function messagesOf({ system, turns }: ModelQuestion): JsonObject[] {
  const spoken = turns.map(({ role, text }) => ({ role, content: text }));
  return system === undefined ? spoken : [{ role: 'system', content: system }, ...spoken];
}
