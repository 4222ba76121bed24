import { valueAt } from '../../core/answer/path.ts';
import { jsonOf, type Value } from '../../core/value/value.ts';
import { googleHopelessness } from './gemini.ts';
import {
  countAt,
  type Finish,
  joinedText,
  listAt,
  maxTokensNames,
  messagesOf,
  onlyCall,
  type Provider,
  present,
  spokenText,
  textAt,
} from './provider.ts';

/** OpenAI's reasons, and those of compatible servers: DeepSeek, Mistral, Cohere, vLLM, OpenRouter and gateways to Gemini. */
const finishes: Readonly<Record<string, Finish>> = {
  ...{ stop: 'stop', eos: 'stop', end_turn: 'stop' },
  ...{ length: 'length', max_tokens: 'length', model_length: 'length' },
  ...{ content_filter: 'refusal', safety: 'refusal', refusal: 'refusal', recitation: 'refusal', prohibited_content: 'refusal' },
  ...{ insufficient_system_resource: 'broken', abort: 'broken', error: 'broken' },
};

/** Messages about an unknown member of the request. Mistral and vLLM use `extra_forbidden`; OpenAI and Azure have others. */
const notKnown =
  /extra_forbidden|extra (?:inputs|fields)|unsupported|unrecogni[sz]ed|unknown|unexpected|not (?:permitted|supported|allowed|a valid field)/i;

/** Most compatible servers support this protocol. https://platform.openai.com/docs/api-reference/chat */
export const openai: Provider = {
  baseUrl: 'https://api.openai.com/v1',
  credential: 'openai-api-key',
  headers: {},
  lacks: ['prompt_cache'],
  auth: (credential) => ({ type: 'bearer', credential }),
  path: () => '/chat/completions',
  body: (question) =>
    present({
      model: question.model,
      messages: messagesOf(question),
      [question.maxTokensName]: question.maxTokens,
      temperature: question.temperature,
      top_p: question.top_p,
      seed: question.seed,
      reasoning_effort: question.effort,
      response_format: question.schema && {
        type: 'json_schema',
        json_schema: { name: 'output', strict: question.isStrict, schema: question.schema },
      },
    }),
  advice(status, body, { maxTokensName }) {
    const text = jsonOf(body);
    const isRefused = (status === 400 || status === 422) && notKnown.test(text) && new RegExp(`\\b${maxTokensName}\\b`).test(text);
    if (!isRefused) return undefined;
    return `the server does not know ${maxTokensName}: write max_tokens_name: ${maxTokensNames.find((name) => name !== maxTokensName)}`;
  },
  // Google also supports Chat Completions, and refuses these requests in the same way as requests to Gemini.
  hopelessness: googleHopelessness,
  answer: (body) => ({
    text: spokenText(valueAt(body, ['choices', 0, 'message', 'content'])) ?? refusalOf(body),
    toolCall: onlyCall(listAt(body, 'choices', 0, 'message', 'tool_calls'), 'function'),
    finish:
      refusalOf(body) === undefined ? (finishes[(textAt(body, 'choices', 0, 'finish_reason') ?? '').toLowerCase()] ?? 'other') : 'refusal',
    model: textAt(body, 'model'),
    usage: {
      input: countAt(body, 'usage', 'prompt_tokens'),
      output: countAt(body, 'usage', 'completion_tokens'),
      cached: countAt(body, 'usage', 'prompt_tokens_details', 'cached_tokens'),
    },
  }),
};

function refusalOf(body: Value): string | undefined {
  // Some gateways send an empty refusal with every answer.
  return textAt(body, 'choices', 0, 'message', 'refusal') || joinedText(listAt(body, 'choices', 0, 'message', 'content'), 'refusal');
}
