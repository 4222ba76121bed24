import { isAbsolute } from 'node:path';
import { expect, test } from 'vitest';
import { homeFolder } from '../../../src/io/files/home.ts';

test('AUTOMATE_HOME is the home folder', () => {
  expect(homeFolder({ AUTOMATE_HOME: '/somewhere/else' })).toBe('/somewhere/else');
});

test.each([{}, { AUTOMATE_HOME: '' }])("the home is the platform's folder for settings under %o", (environment) => {
  const folder = homeFolder(environment);
  expect(isAbsolute(folder)).toBe(true);
  expect(folder).toMatch(/automate/);
});
