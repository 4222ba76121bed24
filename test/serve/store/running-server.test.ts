import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ownerText } from '../../../src/files/owner.ts';
import { runningServer, serverLockPath } from '../../../src/serve/store/links.ts';
import { serverHome } from '../../helpers/server-keys.ts';

const server = { pid: process.pid, address: 'http://127.0.0.1:4020', folder: '/flows' };

test.each([
  ['of a process that is running', ownerText(), server],
  ['of a dead process whose id a different process has now', JSON.stringify({ ...JSON.parse(ownerText()), born: '1' }), undefined],
  ['that was released', undefined, undefined],
])('a lock file %s shows whether a server is running', (_, lock, found) => {
  const home = serverHome();
  writeFileSync(serverLockPath(home), JSON.stringify(server));
  if (lock !== undefined) writeFileSync(`${serverLockPath(home)}.automate-lock`, lock);
  expect(runningServer(home)).toEqual(found);
});
