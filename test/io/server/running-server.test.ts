import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ownerText } from '../../../src/io/files/owner.ts';
import { runningServer, serverLockPath } from '../../../src/io/server/running-server.ts';
import { serverHome } from '../../helpers/server-keys.ts';

const server = { pid: process.pid, address: 'http://127.0.0.1:4020', folder: '/flows' };

test.each([
  ['of a living process', ownerText(), server],
  ['of a dead one whose pid another process has now', JSON.stringify({ ...JSON.parse(ownerText()), born: '1' }), undefined],
  ['that was released', undefined, undefined],
])('a server with a lock %s', (_, lock, found) => {
  const home = serverHome();
  writeFileSync(serverLockPath(home), JSON.stringify(server));
  if (lock !== undefined) writeFileSync(`${serverLockPath(home)}.automate-lock`, lock);
  expect(runningServer(home)).toEqual(found);
});
