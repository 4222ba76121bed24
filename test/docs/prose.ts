import type { Page } from './pages.ts';
import { proseOf } from './pages.ts';

/** A habit of writing that can be counted, with its limit for all pages together. */
export interface Habit {
  readonly name: string;
  readonly pattern: RegExp;
  /** What is counted: with `words`, the matches per 1,000 words; with `sentences`, the percentage of sentences that match. */
  readonly per: 'words' | 'sentences';
  readonly limit: { readonly atLeast: number } | { readonly atMost: number };
  /** What the writer should do about the habit. */
  readonly advice: string;
}

export const habits: readonly Habit[] = [
  {
    name: '"you"',
    pattern: /\b(you|your|yours)\b/gi,
    per: 'words',
    limit: { atLeast: 14 },
    advice: 'Speak to the reader: "You can edit the file first", not "The file may be edited".',
  },
  {
    name: '"can", "may", "must", "should", "will"',
    pattern: /\b(can|may|must|should|will|need to|want to)\b/gi,
    per: 'words',
    limit: { atLeast: 14 },
    advice: 'Say whether something is possible, required or advised: "You must set the key on each machine."',
  },
  {
    name: 'a condition or a reason',
    pattern: /\b(if|when|because|unless|instead|so that|otherwise|while|although|since)\b/gi,
    per: 'sentences',
    limit: { atLeast: 20 },
    advice: 'Say when a rule holds and why: "If the server says how long to wait, ...", "... because many servers send it always".',
  },
  {
    name: 'an example',
    pattern: /\b(for example|such as|for instance|e\.g\.)\b/gi,
    per: 'sentences',
    limit: { atLeast: 4 },
    advice: 'Give a value that a reader may have: "decimal degrees, such as 52.52".',
  },
  {
    name: 'a semicolon',
    pattern: /;/g,
    per: 'sentences',
    limit: { atMost: 2 },
    advice: 'Write two sentences, or a list.',
  },
  {
    name: '"is no", "has no", "with no"',
    pattern: /\b(is|are|has|have|with|needs?|sends?) no\b/gi,
    per: 'words',
    limit: { atMost: 0.5 },
    advice: 'Put "not" next to the verb: "is not a list", "does not have a key".',
  },
];

/** Returns the sentences of a page, without code, tables, headings, comments and link targets. */
export function sentencesOf(page: Page): string[] {
  return proseOf(page)
    .replace(/<!--[\s\S]*?-->/g, '')
    .replace(/^```.*$/gm, '\n')
    .split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )/)
    .map(plainText)
    .flatMap((block) => block.split(/(?<=[.!?])\s+(?=["(]?[A-Z0-9]|code)/))
    .filter((sentence) => /\w+ \w+/.test(sentence));
}

function plainText(block: string): string {
  const lines = block.split('\n').filter((line) => !/^\s*(\||#|!\[|>?\s*$)/.test(line));
  return lines
    .join(' ')
    .replace(/^\s*(?:[-*]|\d+\.) /, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/`[^`]*`/g, 'code')
    .replace(/[*_]{1,3}/g, '')
    .trim();
}

/** Returns the figure for a habit: matches per 1,000 words, or the percentage of sentences with a match. */
function figureOf({ pattern, per }: Habit, sentences: readonly string[]): number {
  return per === 'words'
    ? (1000 * countOf(pattern, sentences)) / wordsOf(sentences)
    : (100 * sentences.filter((sentence) => sentence.search(pattern) >= 0).length) / sentences.length;
}

function countOf(pattern: RegExp, sentences: readonly string[]): number {
  return sentences.reduce((sum, sentence) => sum + (sentence.match(pattern)?.length ?? 0), 0);
}

function wordsOf(sentences: readonly string[]): number {
  return countOf(/[\p{L}\p{N}'’-]+/gu, sentences);
}

/**
 * Returns one message for each habit that exceeds its limit in all pages together. The message lists the worst pages, with example
 * sentences.
 */
export function badHabits(pages: readonly Page[]): string[] {
  const read = pages.map((page) => ({ path: page.path, sentences: sentencesOf(page) }));
  const all = read.flatMap(({ sentences }) => sentences);
  return habits.flatMap((habit) => {
    const excess = excessOf(habit, all);
    if (excess <= 0) return [];
    const worst = read
      .map((page) => ({ ...page, weight: excessOf(habit, page.sentences) * wordsOf(page.sentences) }))
      .filter(({ weight }) => weight > 0)
      .sort((a, b) => b.weight - a.weight)
      .slice(0, 5);
    return [
      [
        `${habit.name}: ${describeFigure(habit, all)} in all pages, ${describeLimit(habit)}`,
        habit.advice,
        ...worst.flatMap(({ path, sentences }) => [
          `  ${path}: ${describeFigure(habit, sentences)}, for example`,
          ...samplesOf(habit, sentences).map((sentence) => `    ${sentence}`),
        ]),
      ].join('\n'),
    ];
  });
}

/** Returns by how much the figure exceeds its limit; 0 or less if it does not. */
function excessOf(habit: Habit, sentences: readonly string[]): number {
  const figure = figureOf(habit, sentences);
  return 'atLeast' in habit.limit ? habit.limit.atLeast - figure : figure - habit.limit.atMost;
}

function describeFigure(habit: Habit, sentences: readonly string[]): string {
  const figure = figureOf(habit, sentences).toFixed(1);
  return habit.per === 'words' ? `${figure} in 1,000 words` : `${figure} % of the sentences`;
}

function describeLimit({ limit }: Habit): string {
  return 'atLeast' in limit ? `expected at least ${limit.atLeast}` : `expected at most ${limit.atMost}`;
}

/**
 * Returns three example sentences: sentences that match a pattern that is too frequent, or the longest sentences without a pattern that is
 * too rare.
 */
function samplesOf({ pattern, limit }: Habit, sentences: readonly string[]): string[] {
  const tooRare = 'atLeast' in limit;
  return sentences
    .filter((sentence) => sentence.search(pattern) >= 0 !== tooRare)
    .sort((a, b) => (tooRare ? b.length - a.length : 0))
    .slice(0, 3);
}
