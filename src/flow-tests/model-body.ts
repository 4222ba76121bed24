import type { JsonObject } from '../core/value/value.ts';

/** The token counts of every LLM answer in a test. */
const tokens = { input: 100, output: 10 };

/**
 * Returns the body of an LLM's response that contains this text. The body combines the formats of all providers, so every node finds the
 * part that it reads.
 */
export function modelBody(text: string): JsonObject {
  const { input, output } = tokens;
  return {
    // Read by nodes that use Anthropic.
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    // Read by nodes that use Chat Completions.
    choices: [{ message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    // Read by nodes that use OpenAI Responses.
    output: [{ type: 'message', content: [{ type: 'output_text', text }] }],
    status: 'completed',
    usage: { input_tokens: input, output_tokens: output, prompt_tokens: input, completion_tokens: output },
    // Read by nodes that use Gemini.
    candidates: [{ content: { parts: [{ text }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: input, candidatesTokenCount: output },
    // Read by nodes that use Ollama.
    message: { role: 'assistant', content: text },
    done_reason: 'stop',
    prompt_eval_count: input,
    eval_count: output,
  };
}
