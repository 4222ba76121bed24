/** @typedef {import('./answers.mjs').Request} Request */
/** @typedef {import('./answers.mjs').Answer} Answer */

/**
 * Answers as an OpenAI-compatible chat does, by rules instead of a language model: the same question gets the same answer.
 * @param {Request} request
 * @returns {Answer}
 */
export function answerChat({ method, body: text = '' }) {
  const body = method === 'POST' ? parsed(text) : undefined;
  const question = body?.messages?.findLast(({ role }) => role === 'user')?.content;
  if (typeof body?.model !== 'string' || typeof question !== 'string') {
    const error = { message: 'expected a model and messages, the last of role user', type: 'invalid_request_error' };
    return { status: 400, body: { error } };
  }
  const properties = body.response_format?.json_schema?.schema?.properties;
  const content = properties ? JSON.stringify(objectOf(properties, question)) : firstSentence(question);
  const choices = [{ index: 0, message: { role: 'assistant', content, refusal: null }, finish_reason: 'stop' }];
  const [prompt, completion] = [tokensIn(JSON.stringify(body.messages)), tokensIn(content)];
  const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  return { body: { id: 'example', object: 'chat.completion', model: body.model, choices, usage } };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function tokensIn(text) {
  return Math.ceil(text.length / 4);
}

function objectOf(properties, question) {
  return Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, answerTo(property, question)]));
}

/** An answer that fits the JSON Schema of a property. */
function answerTo({ type = 'string', enum: choices }, question) {
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
const hints = {
  billing: /invoice|charge|refund|payment|price|paid/gi,
  login: /password|log ?in|sign ?in|locked|two-factor/gi,
  bug: /error|crash|broken|blank|bug|fails/gi,
  shipping: /parcel|deliver|shipping|track|arrive/gi,
  high: /urgent|immediately|today|cannot|twice|all our/gi,
  low: /whenever|no hurry|curious|wonder/gi,
};

/** The choice that most words speak for; without any, `other` or `normal`, else the last. */
function choiceOf(choices, question) {
  const scored = choices.map((choice) => ({ choice, score: question.match(hints[choice] ?? /$^/g)?.length ?? 0 }));
  const best = scored.reduce((one, other) => (other.score > one.score ? other : one));
  if (best.score > 0) return best.choice;
  return choices.find((choice) => choice === 'other' || choice === 'normal') ?? choices.at(-1) ?? null;
}

function firstSentence(text) {
  return (/^[^.!?\n]*[.!?]?/.exec(text.trim())?.[0] ?? '').slice(0, 120);
}
