import { valueAt } from '../../core/answer/path.ts';
import { countAt, type Finish, listAt, onlyCall, type Provider, present, spokenText, textAt } from './provider.ts';

const finishes: Readonly<Record<string, Finish>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'refusal',
};

/**
 * Messages about an account without money or at its limit. They have the status and type of an invalid request, and no code:
 * https://github.com/anthropics/claude-code/issues/88711 and /38035.
 */
const noMoney = /^your credit balance is too low\b|^you have reached your specified api usage limits\b/i;

/** https://docs.claude.com/en/api/messages */
export const anthropic: Provider = {
  baseUrl: 'https://api.anthropic.com/v1',
  credential: 'anthropic-api-key',
  headers: { 'anthropic-version': '2023-06-01' },
  lacks: ['seed', 'max_tokens_name', 'strict'],
  auth: (credential) => ({ type: 'api_key', header: 'x-api-key', credential }),
  path: () => '/messages',
  body({ system, schema, effort, cachesPrompt, ...question }) {
    const format = schema && { type: 'json_schema', schema };
    return present({
      model: question.model,
      max_tokens: question.maxTokens,
      system: cachesPrompt && system !== undefined ? [{ type: 'text', text: system, cache_control: { type: 'ephemeral' } }] : system,
      messages: question.turns.map(({ role, text }) => ({ role, content: text })),
      temperature: question.temperature,
      top_p: question.top_p,
      output_config: format || effort !== undefined ? present({ format, effort }) : undefined,
    });
  },
  hopelessness(status, body) {
    const message = textAt(body, 'error', 'message') ?? '';
    return status === 400 && textAt(body, 'error', 'type') === 'invalid_request_error' && noMoney.test(message) ? 'no-money' : undefined;
  },
  answer(body) {
    const cached = countAt(body, 'usage', 'cache_read_input_tokens');
    const stored = countAt(body, 'usage', 'cache_creation_input_tokens');
    return {
      text: spokenText(valueAt(body, ['content'])),
      toolCall: onlyCall(listAt(body, 'content').filter((part) => textAt(part, 'type') === 'tool_use')),
      finish: finishes[textAt(body, 'stop_reason') ?? ''] ?? 'other',
      model: textAt(body, 'model'),
      usage: {
        // input_tokens does not include the tokens that were read from the cache or written to it.
        input: countAt(body, 'usage', 'input_tokens') + cached + stored,
        output: countAt(body, 'usage', 'output_tokens'),
        cached,
      },
    };
  },
};
