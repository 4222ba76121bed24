import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/core/failure.ts';
import type { McpSession } from '../../src/mcp/session.ts';
import { SessionSlot } from '../../src/mcp/tools.ts';

/** Creates a slot, which holds the current session of a connection. `opened` lists all sessions so far; `lose` loses the last. */
function slotOf({ isLocal = true, open = async () => {} }: { isLocal?: boolean; open?: () => Promise<void> } = {}) {
  const opened: { lost: Failure | undefined; isClosed: boolean }[] = [];
  const slot = new SessionSlot('crm', isLocal, async () => {
    await open();
    const close = async () => {
      fake.isClosed = true;
    };
    const fake = { lost: undefined, isClosed: false, close };
    opened.push(fake);
    return fake as unknown as McpSession;
  });
  return { slot, opened, lose: () => Object.assign(opened.at(-1) as object, { lost: new Failure('network', 'it ended') }) };
}

const thrown = (work: Promise<unknown>) =>
  work.then(
    () => 'nothing thrown',
    (error: Failure) => error,
  );

describe('the session of an MCP connection', () => {
  test('is opened when it is first used, and shared by all calls', async () => {
    const { slot, opened } = slotOf();
    expect(opened).toHaveLength(0);
    const [first, second] = await Promise.all([slot.session(), slot.session()]);
    expect(first).toBe(second);
    expect(await slot.session()).toBe(first);
    expect(opened).toHaveLength(1);
  });

  test('is closed and reopened after it was lost', async () => {
    const { slot, opened, lose } = slotOf();
    const first = await slot.session();
    lose();
    const again = await Promise.all([slot.session(), slot.session()]);
    expect(again[0]).not.toBe(first);
    expect(again[1]).toBe(again[0]);
    expect(opened.map(({ isClosed }) => isClosed)).toEqual([true, false]);
  });

  test('to a local server is reopened only once, and after that every call fails', async () => {
    const { slot, opened, lose } = slotOf();
    for (let time = 0; time < 2; time++) {
      await slot.session();
      lose();
    }
    for (let time = 0; time < 3; time++) {
      expect(await thrown(slot.session())).toMatchObject({
        sent: false,
        retryable: false,
        message: 'it ended\nthe server of "crm" was restarted once, and is not restarted again',
      });
    }
    expect(opened).toHaveLength(2);
  });

  test('to a remote server is reopened whenever it is lost', async () => {
    const { slot, opened, lose } = slotOf({ isLocal: false });
    for (let time = 0; time < 5; time++) {
      await slot.session();
      lose();
    }
    await slot.session();
    expect(opened).toHaveLength(6);
  });

  test('that cannot be opened makes each waiting call fail, and the next call tries to open the session', async () => {
    let isDown = true;
    const open = async () => {
      if (isDown) throw new Failure('network', 'refused');
    };
    const { slot, opened } = slotOf({ open });
    const [first, second] = await Promise.all([thrown(slot.session()), thrown(slot.session())]);
    expect(first).toMatchObject({ message: 'refused' });
    expect(first).not.toBe(second);
    isDown = false;
    await slot.session();
    expect(opened).toHaveLength(1);
  });

  test('is not reopened for each record if reopening has failed once', async () => {
    let opens = 0;
    const open = async () => {
      opens += 1;
      if (opens > 1) throw new Failure('network', 'it cannot be started');
    };
    const { slot, lose } = slotOf({ open });
    await slot.session();
    lose();
    for (let time = 0; time < 3; time++) expect(await thrown(slot.session())).toMatchObject({ message: 'it cannot be started' });
    expect(opens).toBe(2);
  });

  test('is closed when the connection is closed', async () => {
    const { slot, opened } = slotOf();
    await slot.close();
    await slot.session();
    await slot.close();
    expect(opened).toMatchObject([{ isClosed: true }]);
  });
});
