import { valueAt } from '../../core/answer/path.ts';
import { goDurationMs } from '../../core/answer/rate-limit.ts';
import { isObject, type Value } from '../../core/value/value.ts';
import { countAt, type Finish, type HopelessRefusal, listAt, onlyCall, type Provider, present, spokenText, textAt } from './provider.ts';

const refusals = new Set(['SAFETY', 'RECITATION', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII', 'LANGUAGE']);

/** Messages of a 429 about an account without money. They have no details: https://ai.google.dev/gemini-api/docs/billing. */
const noMoney = /^your prepayment credits are depleted\b|\bexceeded its monthly spending cap\b/i;

/** Undefined if other questions might be answered. */
export function googleHopelessness(status: number, body: Value): HopelessRefusal | undefined {
  const details = listAt(body, 'error', 'details');
  // Google refuses an unknown or expired key with status 400.
  if (details.some((detail) => textAt(detail, 'reason') === 'API_KEY_INVALID')) return 'refused-key';
  if (status !== 429) return undefined;
  // retryDelay in the response is not used: it is one second even if the daily quota is used up.
  // https://ai.google.dev/gemini-api/docs/rate-limits
  const quotas = details.flatMap((detail) => listAt(detail, 'violations')).map((violation) => textAt(violation, 'quotaId') ?? '');
  if (quotas.some((quota) => quota.includes('PerDay'))) return 'day-quota';
  return noMoney.test(textAt(body, 'error', 'message') ?? '') ? 'no-money' : undefined;
}

/** The provider for Google's Gemini API. https://ai.google.dev/api/generate-content */
export const gemini: Provider = {
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  credential: 'gemini-api-key',
  headers: {},
  lacks: ['prompt_cache', 'max_tokens_name', 'strict'],
  auth: (credential) => ({ type: 'api_key', header: 'x-goog-api-key', credential }),
  path: (model) => `/models/${encodeURIComponent(model)}:generateContent`,
  body: ({ system, schema, effort, ...question }) =>
    present({
      systemInstruction: system === undefined ? undefined : { parts: [{ text: system }] },
      contents: question.turns.map(({ role, text }) => ({ role: role === 'user' ? 'user' : 'model', parts: [{ text }] })),
      generationConfig: present({
        maxOutputTokens: question.maxTokens,
        temperature: question.temperature,
        topP: question.top_p,
        seed: question.seed,
        thinkingConfig: effort === undefined ? undefined : { thinkingLevel: effort },
        responseMimeType: schema && 'application/json',
        responseJsonSchema: schema,
      }),
    }),
  answer: (body) => ({
    text: spokenText(valueAt(body, ['candidates', 0, 'content', 'parts'])),
    toolCall: onlyCall(
      listAt(body, 'candidates', 0, 'content', 'parts').filter((part) => isObject(part) && part.functionCall !== undefined),
      'functionCall',
    ),
    finish: finishOf(body),
    model: textAt(body, 'modelVersion'),
    usage: {
      input: countAt(body, 'usageMetadata', 'promptTokenCount'),
      // Thinking tokens are billed as output.
      output: countAt(body, 'usageMetadata', 'candidatesTokenCount') + countAt(body, 'usageMetadata', 'thoughtsTokenCount'),
      cached: countAt(body, 'usageMetadata', 'cachedContentTokenCount'),
    },
  }),
  hopelessness: googleHopelessness,
  waitMs: (body) =>
    listAt(body, 'error', 'details')
      .map((detail) => goDurationMs(textAt(detail, 'retryDelay')))
      .find((ms) => ms !== undefined),
};

function finishOf(body: Value): Finish {
  if (textAt(body, 'promptFeedback', 'blockReason') !== undefined) return 'refusal';
  const reason = textAt(body, 'candidates', 0, 'finishReason') ?? '';
  if (refusals.has(reason)) return 'refusal';
  if (reason === 'MAX_TOKENS') return 'length';
  return reason === 'STOP' ? 'stop' : 'other';
}
