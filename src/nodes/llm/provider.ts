import { valueAt } from '../../core/answer/path.ts';
import type { Auth } from '../../core/auth/auth.ts';
import type { JsonObject, Value } from '../../core/value/value.ts';

/** A part of a conversation. */
export interface Turn {
  readonly role: 'user' | 'assistant';
  readonly text: string;
}

/** The options that are sent only if the flow has them. */
export interface Tuning {
  readonly temperature?: number | undefined;
  readonly top_p?: number | undefined;
  readonly seed?: number | undefined;
  readonly effort?: string | undefined;
}

/** The names that servers of Chat Completions give to the maximum length of an answer. */
export const maxTokensNames = ['max_completion_tokens', 'max_tokens'] as const;

/** A question to a model. */
export interface Question extends Tuning {
  readonly model: string;
  readonly system: string | undefined;
  readonly turns: readonly Turn[];
  readonly maxTokens: number;
  readonly maxTokensName: (typeof maxTokensNames)[number];
  /** The JSON Schema of the answer; undefined for a text. */
  readonly schema: JsonObject | undefined;
  /** True if the server is to hold the model to the schema. */
  readonly isStrict: boolean;
  /** True if the provider is asked to cache the system prompt. */
  readonly cachesPrompt: boolean;
}

/** The way a model ended its answer. */
export type Finish = 'stop' | 'length' | 'refusal' | 'other';

/** The tokens of an answer. `input` includes cached tokens. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
}

/** An answer, whatever protocol it came in. */
export interface ModelAnswer {
  /** The answer of the model; undefined if the body has no text of a model. */
  readonly text: string | undefined;
  readonly finish: Finish;
  /** The name that the answer gives; undefined if it gives none. */
  readonly model: string | undefined;
  readonly usage: Usage;
}

/** The reason why no other question would be answered, either: no money, a key that is refused, or a day's quota that is used up. */
export type HopelessRefusal = 'no-money' | 'refused-key' | 'day-quota';

/** The protocol of a provider of language models. */
export interface Provider {
  readonly baseUrl: string;
  /** Name of the default credential; undefined if it needs none. */
  readonly credential: string | undefined;
  /** Headers of every request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Options that its protocol does not have. */
  readonly lacks: readonly (keyof Tuning | 'prompt_cache' | 'max_tokens_name' | 'strict')[];
  auth(credential: string): Auth;
  /** The path after the base URL. */
  path(model: string): string;
  body(question: Question): JsonObject;
  answer(body: Value): ModelAnswer;
  /** The way out of a refusal; undefined if it is in the server's message. */
  advice?(status: number, body: Value, question: Pick<Question, 'maxTokensName'>): string | undefined;
  /** The reason in a refusal why no other question would be answered; undefined if others may be. */
  hopelessness?(status: number, body: Value): HopelessRefusal | undefined;
  /** The wait in the body of a refusal; undefined if it has none. */
  waitMs?(body: Value): number | undefined;
}

/** A text in an answer; undefined if there is none at that place. */
export function textAt(body: Value | undefined, ...steps: (string | number)[]): string | undefined {
  const value = valueAt(body, steps);
  return typeof value === 'string' ? value : undefined;
}

/** A count in an answer; 0 if there is none at that place. */
export function countAt(body: Value | undefined, ...steps: (string | number)[]): number {
  const value = valueAt(body, steps);
  return typeof value === 'number' ? value : 0;
}

/** The members of a list in an answer; empty if there is none at that place. */
export function listAt(body: Value | undefined, ...steps: (string | number)[]): readonly Value[] {
  const value = valueAt(body, steps);
  return Array.isArray(value) ? value : [];
}

/** The texts of the parts that have one, joined; undefined if none has. */
export function joinedText(parts: readonly Value[], member = 'text'): string | undefined {
  const texts = parts.flatMap((part) => textAt(part, member) ?? []);
  return texts.length > 0 ? texts.join('') : undefined;
}

/** An object of the members that are there. */
export function present(members: Readonly<Record<string, Value | undefined>>): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as JsonObject;
}

/** The turns as messages, in the form that most protocols share. */
export function messagesOf({ system, turns }: Question): JsonObject[] {
  const spoken = turns.map(({ role, text }) => ({ role, content: text }));
  return system === undefined ? spoken : [{ role: 'system', content: system }, ...spoken];
}
