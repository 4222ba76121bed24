import { expect, test } from 'vitest';
import { Failure } from '../../../src/core/failure.ts';
import { errorFields, onOneLine, unreadableBefore } from '../../../src/io/records/errors.ts';

const item = { number: 1, fields: new Map(), end: { offset: 0, line: 1 } };
const failure = new Failure('output', 'it has no room\n  make some:\nelsewhere');

test('a message is one line in a column, and as it is in an object', () => {
  expect(new Map(errorFields(item, failure, true)).get('_error_message')).toBe('it has no room; make some: elsewhere');
  expect(errorFields(item, failure, false)).toMatchObject([['_error', { message: failure.message }]]);
});

test.each([
  ['nothing to do', 'nothing to do'],
  ['a\r\nb\n', 'a; b'],
  ['a\n\nb', 'a; b'],
])('%j on one line', (message, line) => expect(onOneLine(message)).toBe(line));

const advice = 'could not be read in an earlier run (mend it, and empty its error class): ';
test.each([
  ['that could not be read', ['input', 'line 3: broken'], `${advice}line 3: broken`],
  ['that could not be read twice', ['input', `${advice}line 3: broken`], `${advice}line 3: broken`],
  [
    'that had fields without a column',
    ['http', 'no', '{"b":1}'],
    'had fields without a column (give them columns, and empty _error_fields): {"b":1}',
  ],
  ['that failed later on its way', ['http', 'no', ''], undefined],
] as const)('a record of an errors file %s', (_name, [kind, message, others], expected) => {
  expect(unreadableBefore(kind, message, others)?.message).toBe(expected);
});
