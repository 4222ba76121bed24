import type { ChalkInstance } from 'chalk';
import { cleaned } from '../../core/answer/response.ts';
import type { FlowError, Problem } from '../../core/failure.ts';
import type { Plan } from '../../core/plan.ts';
import { messageWithAdvice } from '../advice.ts';
import type { Terminal } from '../terminal.ts';

export function problemText(file: string, problem: Problem, colors: ChalkInstance, kind: 'error' | 'warning' = 'error'): string {
  const place = problem.line === undefined ? file : `${file}:${problem.line}:${problem.column}`;
  const [first, ...more] = cleaned(messageWithAdvice(problem)).split('\n');
  const color = kind === 'error' ? colors.red : colors.yellow;
  const lines = [`${colors.bold(`${place}:`)} ${kind === 'warning' ? `${colors.yellow('warning:')} ` : ''}${first}`];
  if (problem.source) {
    const { text, caret, width } = excerptOf(problem.source);
    const number = String(problem.line);
    const shown = controlsAsSpaces(text);
    const marks = '^'.repeat(Math.max(1, Math.min(width, shown.length - caret)));
    lines.push(`  ${number} | ${shown}`, `  ${' '.repeat(number.length)} | ${blanksFor(shown.slice(0, caret))}${color(marks)}`);
  }
  return [...lines, ...more.map((line) => `  ${line}`)].join('\n');
}

/** A flow in JSON can be one line of any length. */
const longestLine = 500;

/** The part of a long line around the mistake. */
function excerptOf(source: NonNullable<Problem['source']>): typeof source {
  const { text, caret, width } = source;
  if (text.length <= longestLine) return source;
  const start = Math.max(0, caret - 60);
  const before = start === 0 ? '' : '...';
  const part = text.slice(start, start + 120).toWellFormed();
  return {
    text: `${before}${part}${start + 120 < text.length ? '...' : ''}`,
    caret: caret - start + before.length,
    width: Math.min(width, 60),
  };
}

/** East Asian characters and emoji (the Unicode property is a close approximation) take two columns of a terminal. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/gu;

/** Blanks that are as wide as the text on a terminal, so that the caret below the line stays at the right column. */
function blanksFor(text: string): string {
  return text
    .replace(/[\p{M}\u200d]/gu, '')
    .replace(wide, '  ')
    .replace(/./gsu, ' ');
}

/** Replaces control characters, each with one space. */
function controlsAsSpaces(text: string): string {
  return text.replace(/\p{Cc}|[\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, ' ');
}

export function flowErrorText({ file, problems }: FlowError, colors: ChalkInstance): string {
  const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
  return [...problems.map((problem) => problemText(file, problem, colors)), `${count} in ${file}`].join('\n');
}

/** `columns` is undefined if not known. `problems` are reported elsewhere, so a warning about the same text is left out. */
export function printWarnings(
  plan: Plan,
  file: string,
  { say, colors }: Terminal,
  columns?: readonly string[],
  problems: readonly Problem[] = [],
): void {
  const isReported = ({ line, column }: Problem) => problems.some((problem) => problem.line === line && problem.column === column);
  for (const warning of plan.warnings(columns)) if (!isReported(warning)) say(problemText(file, warning, colors, 'warning'));
}

/** Warns about fields that none of the first JSON records has. Later records might have them. */
export function printUnknownFields(plan: Plan, file: string, { say, colors }: Terminal, fields: readonly string[]): void {
  for (const problem of plan.unknownFields(fields, 'none of the first records')) say(problemText(file, problem, colors, 'warning'));
}
