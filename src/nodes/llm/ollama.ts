import { valueAt } from '../../core/answer/path.ts';
import { countAt, listAt, messagesOf, onlyCall, type Provider, present, spokenText, textAt } from './provider.ts';

/** https://docs.ollama.com/api/chat */
export const ollama: Provider = {
  baseUrl: 'http://127.0.0.1:11434',
  credential: undefined,
  headers: {},
  lacks: ['prompt_cache', 'max_tokens_name', 'strict'],
  auth: (credential) => ({ type: 'bearer', credential }),
  path: () => '/api/chat',
  body: ({ schema, effort, ...question }) =>
    present({
      model: question.model,
      messages: messagesOf({ ...question, schema, effort }),
      stream: false,
      format: schema,
      think: effort,
      options: present({
        num_predict: question.maxTokens,
        temperature: question.temperature,
        top_p: question.top_p,
        seed: question.seed,
      }),
    }),
  answer(body) {
    const reason = textAt(body, 'done_reason') ?? 'stop';
    return {
      text: spokenText(valueAt(body, ['message', 'content'])),
      toolCall: onlyCall(listAt(body, 'message', 'tool_calls'), 'function'),
      finish: reason === 'stop' || reason === 'length' ? reason : 'other',
      model: textAt(body, 'model'),
      usage: { input: countAt(body, 'prompt_eval_count'), output: countAt(body, 'eval_count'), cached: 0 },
    };
  },
};
