import type { RE2JS } from 're2js';
import { inQuotes } from '../answer/response.ts';

/** The linear-time regular expressions that CEL prescribes (RE2). Loaded only for flows that have one. */
let engine: typeof RE2JS | undefined;

const compiled = new Map<string, RE2JS>();

/** Patterns from fields may differ in every record: more than this many are not remembered. */
const maxCompiled = 1000;

/** Loads the engine of `matches` and `regex.extract`. Call it before a flow that has a pattern is compiled. */
export async function loadPatternEngine(): Promise<void> {
  engine ??= (await import('re2js')).RE2JS;
}

/** True if the pattern matches some part of the text. Throws an Error for a pattern that RE2 does not know. */
export function matchesPattern(text: string, pattern: string): boolean {
  return compilePattern(pattern).test(text);
}

/**
 * The first part of a text that matches a pattern: the part in brackets if the pattern has some. Null if none matches. Throws an Error for
 * a pattern that RE2 does not know, or that has several parts in brackets.
 */
export function extractPattern(text: string, pattern: string): string | null {
  const matcher = compileExtract(pattern).matcher(text);
  return matcher.find() ? matcher.group(matcher.groupCount()) : null;
}

/** Compiles a pattern for `extractPattern`. Throws an Error as it does. */
export function compileExtract(pattern: string): RE2JS {
  const compiled = compilePattern(pattern);
  if (compiled.groupCount() <= 1) return compiled;
  throw new Error(`expected a pattern with at most one part in brackets, found ${inQuotes(pattern)}; write (?:...) for the others`);
}

/** Compiles a pattern, once. Throws an Error for one that RE2 does not know. */
export function compilePattern(pattern: string): RE2JS {
  const known = compiled.get(pattern);
  if (known) return known;
  if (!engine) throw new Error('the engine of patterns is not loaded');
  if (compiled.size === maxCompiled) compiled.clear();
  const made = compileWith(engine, pattern);
  compiled.set(pattern, made);
  return made;
}

/** Forgets all patterns: one whose matching was cut off may be in an inconsistent state. */
export function forgetPatterns(): void {
  compiled.clear();
}

function compileWith(engine: typeof RE2JS, pattern: string): RE2JS {
  try {
    return engine.compile(pattern);
  } catch (error) {
    const reason = (error as Error).message.replace(/^error parsing regexp: /, '').replaceAll('`', '"');
    throw new Error(`expected a regular expression (RE2), found ${inQuotes(pattern)}: ${reason}`);
  }
}

/** The way out for a pattern that RE2 does not know. */
export const patternAdvice = 'RE2 has no lookahead, lookbehind or backreferences: https://github.com/google/re2/wiki/Syntax';
