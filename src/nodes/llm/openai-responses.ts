import type { Value } from '../../core/value/value.ts';
import { countAt, type Finish, joinedText, listAt, onlyCall, type Provider, present, textAt } from './provider.ts';

/** The provider for OpenAI's Responses API. https://platform.openai.com/docs/api-reference/responses */
export const openaiResponses: Provider = {
  baseUrl: 'https://api.openai.com/v1',
  credential: 'openai-api-key',
  headers: {},
  lacks: ['prompt_cache', 'seed', 'max_tokens_name'],
  auth: (credential) => ({ type: 'bearer', credential }),
  path: () => '/responses',
  body: (question) =>
    present({
      model: question.model,
      instructions: question.system,
      input: question.turns.map(({ role, text }) => ({ role, content: text })),
      max_output_tokens: question.maxTokens,
      temperature: question.temperature,
      top_p: question.top_p,
      reasoning: question.effort === undefined ? undefined : { effort: question.effort },
      text: question.schema && { format: { type: 'json_schema', name: 'output', strict: question.isStrict, schema: question.schema } },
      store: false,
    }),
  answer: (body) => ({
    text: contentsOf(body, 'output_text', 'text') ?? refusalIn(body),
    toolCall: onlyCall(listAt(body, 'output').filter((item) => textAt(item, 'type') === 'function_call')),
    finish: finishOf(body),
    model: textAt(body, 'model'),
    usage: {
      input: countAt(body, 'usage', 'input_tokens'),
      output: countAt(body, 'usage', 'output_tokens'),
      cached: countAt(body, 'usage', 'input_tokens_details', 'cached_tokens'),
    },
  }),
};

function refusalIn(body: Value): string | undefined {
  return contentsOf(body, 'refusal', 'refusal');
}

function contentsOf(body: Value, type: string, member: string): string | undefined {
  const contents = listAt(body, 'output').flatMap((item) => listAt(item, 'content'));
  return joinedText(
    contents.filter((part) => textAt(part, 'type') === type),
    member,
  );
}

function finishOf(body: Value): Finish {
  if (refusalIn(body) !== undefined) return 'refusal';
  if (textAt(body, 'status') === 'completed') return 'stop';
  const reason = textAt(body, 'incomplete_details', 'reason');
  if (reason === 'max_output_tokens') return 'length';
  return reason === 'content_filter' ? 'refusal' : 'other';
}
