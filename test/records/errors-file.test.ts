import { expect, test } from 'vitest';
import { Failure } from '../../src/core/failure.ts';
import { errorFields, onOneLine, unreadableBefore } from '../../src/records/errors-file.ts';

const item = { number: 1, fields: new Map(), end: { offset: 0, line: 1 } };
const failure = new Failure('output', 'it has no room\n  make some:\nelsewhere');

test('an errors file contains each message on one line in CSV, and unchanged in JSON', () => {
  expect(new Map(errorFields(item, failure, true)).get('_error_message')).toBe('it has no room; make some: elsewhere');
  expect(errorFields(item, failure, false)).toMatchObject([['_error', { message: failure.message }]]);
});

test.each([
  ['nothing to do', 'nothing to do'],
  ['a\r\nb\n', 'a; b'],
  ['a\n\nb', 'a; b'],
])('onOneLine joins the lines of the message %j', (message, line) => expect(onOneLine(message)).toBe(line));

const advice = 'could not be read in an earlier run (correct it, and clear its error class): ';
test.each([
  ['keeps its reason if it could not be read', ['input', 'line 3: broken'], `${advice}line 3: broken`],
  ['keeps one reason if it could not be read twice', ['input', `${advice}line 3: broken`], `${advice}line 3: broken`],
  [
    'fails if it has fields without a column',
    ['http', 'no', '{"b":1}'],
    'had fields without a column (give them columns, and clear _error_fields): {"b":1}',
  ],
  ['is an ordinary record if it failed at a node', ['http', 'no', ''], undefined],
] as const)('a record that is read from an errors file %s', (_name, [kind, message, others], expected) => {
  expect(unreadableBefore(kind, message, others)?.message).toBe(expected);
});
