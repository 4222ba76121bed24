import { describe, expect, test } from 'vitest';
import { type Page, readPages } from './pages.ts';
import { badHabits, habits, sentencesOf } from './prose.ts';

const pageOf = (path: string, text: string): Page => ({ path, text, parts: [text.split('\n')] });

test('README and docs address the reader, say who does what, when and why, and contain examples', async () => {
  const others = ['CONTRIBUTING.md', 'docs/flow-reference.md'];
  const pages = (await readPages()).filter(({ path }) => !others.includes(path));
  expect(badHabits(pages).join('\n\n')).toBe('');
});

describe("the check of the documentation's style", () => {
  const terse = pageOf('docs/terse.md', 'A value that is no list fails; the rest goes on.\n\nOrders fail alone.');
  const plain = pageOf('docs/plain.md', 'If you have a list, such as `a, b`, you can run it, because you may want to see it.');

  test('accepts a page that addresses the reader', () => {
    expect(badHabits([plain])).toEqual([]);
  });

  test('reports each bad habit of a terse page, with an example sentence', () => {
    const reports = badHabits([terse]);
    expect(reports.map((report) => report.slice(0, report.indexOf(':')))).toEqual(habits.map(({ name }) => name));
    for (const report of reports) expect(report).toContain('\n    A value that is no list fails; the rest goes on.');
  });

  test('lists only pages that are worse than the required average', () => {
    const [report] = badHabits([plain, terse, terse, terse, terse, terse, terse, terse, terse, terse]);
    expect(report).toContain('docs/terse.md');
    expect(report).not.toContain('docs/plain.md');
  });

  test('checks text and lists, but not code, tables, headings, comments and link targets', () => {
    const text =
      '# A heading here\n<!-- not read -->\nSee [this page](if-you-can.md). Use `if you can`.\n\n- one item\n- two items\n\n| a | table |';
    expect(sentencesOf(pageOf('docs/a.md', text))).toEqual(['See this page.', 'Use code.', 'one item', 'two items']);
  });
});
