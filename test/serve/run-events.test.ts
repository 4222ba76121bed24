import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { RunEvents } from '../../src/serve/runs/run-events.ts';

const eventsOf = (events: RunEvents) => events.after(undefined).map(({ event }) => event);

test('the events of a finished run are read from their file, not kept in memory', () => {
  const folder = mkdtempSync(join(tmpdir(), 'automate-events-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'events.ndjson');
  const events = new RunEvents(path);
  events.state('running', null, null);
  events.failed({ record: 1 });
  events.end({ state: 'stopped' });
  const last = events.lastId;
  appendFileSync(path, `${JSON.stringify({ id: last + 1, event: 'end', data: '{}' })}\n`);
  expect([eventsOf(events), events.lastId]).toEqual([['state', 'failed', 'end'], last + 1]);
  // A resumed run continues with events that follow these.
  events.state('queued', null, null);
  events.failed({ record: 2 });
  events.end({ state: 'finished' });
  expect(eventsOf(events)).toEqual(['state', 'failed', 'failed', 'end']);
});

test("a run's events stay in memory if they cannot be written to their file", () => {
  const events = new RunEvents('/nowhere/events.ndjson');
  events.failed({ record: 1 });
  events.end({});
  expect(eventsOf(events)).toEqual(['failed', 'end']);
});
