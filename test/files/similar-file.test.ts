import { expect, test } from 'vitest';
import { similarFile } from '../../src/files/folder.ts';
import { workplace } from '../helpers/cli.ts';

test.each([
  ['customer.csv', 'customers.csv'],
  ['flow.yml', 'flow.yaml'],
  ['no.csv', undefined],
  ['missing/customers.csv', undefined],
])('the file that was probably meant by %s is %s', async (written, meant) => {
  const place = await workplace({ 'customers.csv': '', 'flow.yaml': '', '1.csv': '' });
  expect(similarFile(place.path(written))).toBe(meant === undefined ? '' : `; did you mean "${place.path(meant)}"?`);
});
