import type { RE2JS } from 're2js';
import { inQuotes } from '../answer/response.ts';
import { remembered } from './remembered.ts';

/** RE2 is the linear-time syntax that CEL requires. The library is loaded only for flows that contain a pattern. */
let engine: typeof RE2JS | undefined;

/** Loads the library for `matches` and `regex.extract`. Must be called before a flow with a pattern is compiled. */
export async function loadPatternEngine(): Promise<void> {
  engine ??= (await import('re2js')).RE2JS;
}

/** The patterns of an expression, each of them compiled once. All methods throw an Error for a pattern that RE2 does not support. */
export class Patterns {
  #compiled = remembered(compilePattern);

  compile(pattern: string): RE2JS {
    return this.#compiled(pattern);
  }

  /** Throws an Error if the pattern has several groups. */
  compileExtract(pattern: string): RE2JS {
    const compiled = this.#compiled(pattern);
    if (compiled.groupCount() <= 1) return compiled;
    throw new Error(`expected a pattern with at most one capturing group, found ${inQuotes(pattern)}; write the others as (?:...)`);
  }

  /** True if the pattern matches some part of the text. */
  matches(text: string, pattern: string): boolean {
    return this.#compiled(pattern).test(text);
  }

  /** Returns the first match, or its only group. Throws an Error if the pattern has several groups. */
  extract(text: string, pattern: string): string | null {
    const matcher = this.compileExtract(pattern).matcher(text);
    return matcher.find() ? matcher.group(matcher.groupCount()) : null;
  }

  /** An aborted match might leave its pattern in an inconsistent state. */
  forget(): void {
    this.#compiled = remembered(compilePattern);
  }
}

function compilePattern(pattern: string): RE2JS {
  if (!engine) throw new Error('the engine of patterns is not loaded');
  return compileWith(engine, pattern);
}

/**
 * Maximum size of a pattern in steps of RE2, which repeats what stands before {n}. A match takes at most this many steps for a character,
 * and about a second for a text that is short enough to be matched without a time limit.
 */
const maxPatternSteps = 10_000;

/** Throws an Error if RE2 does not support the pattern, or if the pattern is too large. */
export function compileWith(engine: typeof RE2JS, pattern: string): RE2JS {
  if (stepsOf(pattern) > maxPatternSteps) {
    const shown = pattern.length > 100 ? `${pattern.slice(0, 100)}...` : pattern;
    throw new Error(`expected a pattern of at most ${maxPatternSteps} steps, found ${inQuotes(shown)}, whose repetitions make it larger`);
  }
  try {
    return engine.compile(pattern);
  } catch (error) {
    const reason = (error as Error).message.replace(/^error parsing regexp: /, '').replaceAll('`', '"');
    throw new Error(`expected a regular expression (RE2), found ${inQuotes(pattern)}: ${reason}`);
  }
}

/** An escape, a quoted text, a class of characters, a repetition, or any other character. */
const patternToken = /\\[pPx]\{[^}]*\}|\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\\.|\[:[^\]]*:\]|[^\]\\])*\]|\{(\d+)(?:,(\d*))?\}|./gsu;

/** Returns about the number of steps of a compiled pattern. It is computed from the text, because compiling a large one takes seconds. */
function stepsOf(pattern: string): number {
  const groups = [0];
  let last = 0;
  for (const { 0: token, 1: least, 2: most } of pattern.matchAll(patternToken)) {
    const inner = token === ')' && groups.length > 1 ? (groups.pop() as number) : 0;
    if (token === '(') groups.push(0);
    const before = last;
    if (least !== undefined) last *= Math.max(Number(least), Number(most ?? 0), 1);
    else if ('*+?'.includes(token)) last += 1;
    else last = inner + (token.startsWith('\\Q') ? token.length : 1);
    const isSuffix = least !== undefined || '*+?'.includes(token);
    groups.push((groups.pop() as number) + (isSuffix ? last - before : last));
  }
  return groups.reduce((sum, size) => sum + size, 0);
}

export const patternAdvice = 'RE2 has no lookahead, lookbehind or backreferences: https://github.com/google/re2/wiki/Syntax';
