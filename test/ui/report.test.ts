import { describe, expect, test } from 'vitest';
import type { RunView } from '../../src/report/run-view.ts';
import { reportHtml } from '../../src/ui/report.tsx';
import { emptyView, fullView } from './run-views.ts';

/** Returns the text of a report, without markup and styles. */
function textOf(view: RunView): string {
  const html = reportHtml(view, '1.2.3').replace(/<style>.*?<\/style>/s, '');
  return html
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&amp;', '&');
}

describe("a run's HTML report", () => {
  test.each([
    ['finished', 6, '3 written 6 rows in the output 0 failed'],
    ['finished', 3, '3 written 0 failed'],
    ['running', 2, '3 written 0 failed'],
  ] as const)('counts rows apart from records if they differ at the end (%s, %i)', (state, outputRecords, line) => {
    const counts = { ...fullView.counts, written: 3, failed: 0, retries: 0, waiting: 0, cached: 0, passedThrough: 0 };
    expect(textOf({ ...fullView, state, counts, outputRecords })).toContain(line);
  });

  test('shows every figure of the run', () => {
    const text = textOf(fullView);
    for (const part of [
      ...['enrich-customers stopped', 'customers.csv to enriched.csv', 'started 2026-11-24 14:02 UTC , took 33.7 s'],
      ...['stopped: a limit is reached no credits are left of --max-credits 4000'],
      ...[
        '4,000 of 10,000 records 40 %',
        '3,883 written',
        '117 failed',
        '99 retries',
        '14 from the cache',
        '1,000 from earlier parts of the run',
      ],
      ...['Response time, median 59 ms 95 % within 260 ms', 'Credits 4,000 of 4,000 · 18,000 of 20,000 in 2026-11 · 14 saved by the cache'],
      ...['Paused for rate limits 7 s 4 times', '404 108 3 %', 'timeout 2 under 1 %', '1 more group with fewer records'],
      ...[
        'profile http 404 the server answered 404: no such user 108 37, 74, 111, …',
        '5 × expected 3 fields, found 2',
        '1 × other messages',
      ],
      ...['name data.user.name 3,883 of 3,883', 'places 90 of 100 4', 'llm 1,204,331 88,120 0.48', 'https://crm.example.com 429 4 7 s'],
      ...['--max-credits 4000 resume with automate run', 'Written by automate 1.2.3'],
    ])
      expect(text).toContain(part);
  });

  test('reports that a run had no records', () => {
    const text = textOf(emptyView);
    for (const part of ['0 records', 'No record failed.', 'No server has answered.', 'No request was sent.']) expect(text).toContain(part);
  });

  test('escapes HTML markup from the run', () => {
    const markup = '</style><script>alert(1)</script><img src=x onerror=alert(1)>"\'';
    const html = reportHtml(
      {
        ...fullView,
        ...{ flow: markup, reason: markup, input: markup, output: markup, errors: markup, command: markup },
        failures: [{ node: markup, class: 'http', count: 1, firstRecords: [1], messages: [{ text: markup, count: 1 }] }],
        mapping: [{ node: markup, field: markup, path: markup, found: 1, of: 1 }],
        statuses: [{ status: markup, count: 1 }],
        pauses: { totalMs: 1, times: 1, gates: [{ gate: markup, reason: markup, times: 1, ms: 1 }] },
        next: [{ why: markup, command: markup }],
      },
      '1',
    );
    expect(html).not.toMatch(/<script|<img/);
    expect(html.match(/&lt;script/g)?.length).toBeGreaterThan(12);
  });

  test('contains nothing that a browser would fetch or execute', () => {
    const html = reportHtml(fullView, '1');
    expect(html).not.toMatch(/<script|<link|<img|\bsrc=|\bhref=|url\(|@import|\bon[a-z]+=/);
    expect(html).toContain(`content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"`);
  });
});
