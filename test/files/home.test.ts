import { isAbsolute } from 'node:path';
import { expect, test } from 'vitest';
import { homeFolder } from '../../src/files/home.ts';

test("AUTOMATE_HOME sets automate's home folder", () => {
  expect(homeFolder({ AUTOMATE_HOME: '/somewhere/else' })).toBe('/somewhere/else');
});

test.each([{}, { AUTOMATE_HOME: '' }])("automate's home is the platform's folder for settings if the environment is %o", (environment) => {
  const folder = homeFolder(environment);
  expect(isAbsolute(folder)).toBe(true);
  expect(folder).toMatch(/automate/);
});
