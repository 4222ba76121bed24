import type { RE2JS } from 're2js';
import { inQuotes } from '../answer/response.ts';

/** RE2 is the linear-time syntax that CEL requires. The library is loaded once per process, and only for flows that contain a pattern. */
let engine: typeof RE2JS | undefined;

/** All flows share the cache, because a pattern has the same meaning in every flow. */
const compiled = new Map<string, RE2JS>();

/** If patterns come from fields, every record can have a different one. */
const maxCompiled = 1000;

/** Loads the library for `matches` and `regex.extract`. Must be called before a flow with a pattern is compiled. */
export async function loadPatternEngine(): Promise<void> {
  engine ??= (await import('re2js')).RE2JS;
}

/** True if the pattern matches some part of the text. Throws an Error for a pattern that RE2 does not support. */
export function matchesPattern(text: string, pattern: string): boolean {
  return compilePattern(pattern).test(text);
}

/** Returns the first match, or its only group. Throws an Error for a pattern that RE2 does not support or that has several groups. */
export function extractPattern(text: string, pattern: string): string | null {
  const matcher = compileExtract(pattern).matcher(text);
  return matcher.find() ? matcher.group(matcher.groupCount()) : null;
}

/** Compiles a pattern for `extractPattern`. Throws an Error if RE2 does not support the pattern, or if it has several groups. */
export function compileExtract(pattern: string): RE2JS {
  const compiled = compilePattern(pattern);
  if (compiled.groupCount() <= 1) return compiled;
  throw new Error(`expected a pattern with at most one capturing group, found ${inQuotes(pattern)}; write the others as (?:...)`);
}

/** Returns the compiled pattern, which is cached. Throws an Error if RE2 does not support the pattern. */
export function compilePattern(pattern: string): RE2JS {
  const known = compiled.get(pattern);
  if (known) return known;
  if (!engine) throw new Error('the engine of patterns is not loaded');
  if (compiled.size === maxCompiled) compiled.clear();
  const made = compileWith(engine, pattern);
  compiled.set(pattern, made);
  return made;
}

/** An aborted match might leave its pattern in an inconsistent state. */
export function forgetPatterns(): void {
  compiled.clear();
}

/** Throws an Error if RE2 does not support the pattern. */
export function compileWith(engine: typeof RE2JS, pattern: string): RE2JS {
  try {
    return engine.compile(pattern);
  } catch (error) {
    const reason = (error as Error).message.replace(/^error parsing regexp: /, '').replaceAll('`', '"');
    throw new Error(`expected a regular expression (RE2), found ${inQuotes(pattern)}: ${reason}`);
  }
}

export const patternAdvice = 'RE2 has no lookahead, lookbehind or backreferences: https://github.com/google/re2/wiki/Syntax';
