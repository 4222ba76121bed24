import { isAbsolute } from 'node:path';
import { expect, test } from 'vitest';
import { homeFolder } from '../../../src/io/files/home.ts';

test('AUTOMATE_HOME moves everything', () => {
  expect(homeFolder({ AUTOMATE_HOME: '/somewhere/else' })).toBe('/somewhere/else');
});

test.each([{}, { AUTOMATE_HOME: '' }])("else it is a folder of the platform's own: %o", (environment) => {
  const folder = homeFolder(environment);
  expect(isAbsolute(folder)).toBe(true);
  expect(folder).toMatch(/automate/);
});
