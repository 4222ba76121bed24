/** A block of thinking: its first line in the text, and what ends it. */
interface Block {
  readonly opens: RegExp;
  readonly closes: (opening: RegExpExecArray) => RegExp;
}

const blocks: readonly Block[] = [
  // <think> of DeepSeek, Qwen and others, also with a namespace such as <seed:think>.
  {
    opens: /^\s*<((?:\w+:)?(?:think|thinking|thoughts?))(?:\s[^>]*)?>/i,
    closes: ([, name]) => new RegExp(`</${name}\\s*>`, 'i'),
  },
  // Magistral
  { opens: /^\s*\[THINK\]/, closes: () => /\[\/THINK\]/ },
  // Kimi
  { opens: /^\s*◁think▷/, closes: () => /◁\/think▷/ },
  { opens: /^\s*<\|begin_of_thought\|>/, closes: () => /<\|end_of_thought\|>/ },
  // Cohere
  { opens: /^\s*<\|START_THINKING\|>/, closes: () => /<\|END_THINKING\|>/ },
  // gpt-oss: https://cookbook.openai.com/articles/openai-harmony
  {
    opens: /^\s*(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)\b/,
    closes: () => /(?:<\|end\|>|<\|start\|>assistant)*<\|channel\|>final\b[^<]*<\|message\|>/,
  },
];

/**
 * The end of thinking whose beginning the server has put into the prompt, as DeepSeek's template does. It stands at an edge of its line:
 * an answer that is about the tag itself has text on both sides.
 */
const strayEnd = /(?:(?:^|\n)[^\S\n]*<\/(?:think|thinking)>|<\/(?:think|thinking)>[^\S\n]*(?:\n|$))/i;

/** Removes thinking at the beginning of a model's answer. Undefined if nothing follows, or if the thinking is cut off. */
export function withoutThinking(text: string): string | undefined {
  let rest = text;
  for (let found = endOfBlock(rest); found !== undefined; found = endOfBlock(rest)) rest = rest.slice(found);
  if (rest === text) return text;
  return rest.trim() === '' ? undefined : rest.trimStart();
}

/** Returns the position behind the first block; undefined if the text does not begin with one. */
function endOfBlock(text: string): number | undefined {
  for (const { opens, closes } of blocks) {
    const opening = opens.exec(text);
    if (!opening) continue;
    const closing = closes(opening).exec(text);
    return closing ? closing.index + closing[0].length : text.length;
  }
  // The beginning of JSON is the answer itself, which may have the tag in a string.
  const stray = /^\s*[[{`]/.test(text) ? null : strayEnd.exec(text);
  return stray ? stray.index + stray[0].length : undefined;
}
