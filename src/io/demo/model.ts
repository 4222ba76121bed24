import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { answerWith, type DemoAnswer, type Route } from './answer.ts';

/** A property of the JSON Schema that an answer has to fit. */
interface Property {
  readonly type?: string | readonly string[];
  readonly enum?: readonly (string | null)[];
}

interface Chat {
  readonly model?: string;
  readonly messages?: readonly { readonly role: string; readonly content: string }[];
  readonly response_format?: { readonly json_schema?: { readonly schema?: { readonly properties?: Readonly<Record<string, Property>> } } };
}

/** An OpenAI-compatible chat, answered by rules instead of a language model: the same question gets the same answer. */
export function chatRoute(): Route {
  return { method: 'POST', path: /^\/v1\/chat\/completions$/, answer: (_, request) => chat(request) };
}

async function chat(request: IncomingMessage): Promise<DemoAnswer> {
  const body = (await json(request).catch(() => null)) as Chat | null;
  const question = body?.messages?.findLast(({ role }) => role === 'user')?.content;
  if (typeof body?.model !== 'string' || typeof question !== 'string') {
    const error = { message: 'expected a model and messages, the last of role user', type: 'invalid_request_error' };
    return answerWith({ error }, 400);
  }
  const properties = body.response_format?.json_schema?.schema?.properties;
  const content = properties ? JSON.stringify(objectOf(properties, question)) : firstSentence(question);
  const choices = [{ index: 0, message: { role: 'assistant', content, refusal: null }, finish_reason: 'stop' }];
  const [prompt, completion] = [tokensIn(JSON.stringify(body.messages)), tokensIn(content)];
  const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  return answerWith({ id: 'demo', object: 'chat.completion', model: body.model, choices, usage });
}

function tokensIn(text: string): number {
  return Math.ceil(text.length / 4);
}

function objectOf(properties: Readonly<Record<string, Property>>, question: string): object {
  return Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, answerTo(property, question)]));
}

function answerTo({ type = 'string', enum: choices }: Property, question: string): unknown {
  if (choices) return choiceOf(choices, question);
  const types = [type].flat();
  const [digits] = /\d+/.exec(question) ?? [];
  if (types.includes('integer') || types.includes('number'))
    return digits === undefined ? (types.includes('null') ? null : 0) : Number(digits);
  if (types.includes('boolean')) return /\byes\b|!/i.test(question);
  if (types.includes('array')) return [];
  return firstSentence(question);
}

/** Words that speak for a choice. */
const hints: Readonly<Record<string, RegExp>> = {
  billing: /invoice|charge|refund|payment|price|paid/gi,
  login: /password|log ?in|sign ?in|locked|two-factor/gi,
  bug: /error|crash|broken|blank|bug|fails/gi,
  shipping: /parcel|deliver|shipping|track|arrive/gi,
  high: /urgent|immediately|today|cannot|twice|all our/gi,
  low: /whenever|no hurry|curious|wonder/gi,
};

/** The choice that most words speak for. Without such a word it is `other` or `normal`, else the last choice. */
function choiceOf(choices: readonly (string | null)[], question: string): string | null {
  const scored = choices.map((choice) => ({ choice, score: question.match(hints[choice ?? ''] ?? /$^/g)?.length ?? 0 }));
  const best = scored.reduce((one, other) => (other.score > one.score ? other : one));
  if (best.score > 0) return best.choice;
  return choices.find((choice) => choice === 'other' || choice === 'normal') ?? choices.at(-1) ?? null;
}

function firstSentence(text: string): string {
  return (/^[^.!?\n]*[.!?]?/.exec(text.trim())?.[0] ?? '').slice(0, 120);
}
