import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { wordsOf } from '../../../src/core/text/words.ts';

describe('splitting a command line into words, as a shell does,', () => {
  test.each([
    'npx -y @scope/server',
    `one 'two three' "four five" six\\ seven`,
    `a'b'"c"d`,
    `"quoted \\"quotes\\" and \\\\ and \\n"`,
    `x ''  ""`,
    '  leading   and\ttabs\n',
    'curl https://a.example \\\n  -H "Accept: text/plain" \\\r\n  -X POST',
    'joined\\\nword "and in\\\nquotes"',
    `$'it\\'s' $'tab\\there' $'\\u00e9\\x41\\101\\U0001F600' $'\\\\x41' $'\\?'`,
    `$'caf\\xc3\\xa9' $''x cost$ $ x$`,
    `'single \\n stays' "a$" é`,
  ])('returns the same words as bash for %j', (text) => {
    const printed = execFileSync('bash', ['--norc', '-c', `printf '%s\\0' ${text.replaceAll('\r\n', '\n')}`], {
      env: { LC_ALL: 'C.UTF-8' },
    });
    expect(wordsOf(text)).toEqual(printed.toString().split('\0').slice(0, -1));
  });

  test.each(["it's", '"open', "$'open", "a 'b"])('fails if a quote is not closed: %s', (text) => {
    expect(() => wordsOf(text)).toThrow('is not closed');
  });

  test.each(['', '  ', "''"])('fails if there are no words: %j', (text) => {
    expect(() => wordsOf(text)).toThrow('expected a command');
  });
});
