import { AutomateError } from '../core/failure.ts';
import { noticeTargets } from '../core/notice.ts';
import { exitCodes } from '../run/exit-codes.ts';
import { type NoticeOptions, Notices } from './run/notices.ts';
import type { Terminal } from './terminal.ts';

/** Sends a test message. */
export async function notifyCommand(target: string, options: NoticeOptions, terminal: Terminal): Promise<number> {
  const notify = noticeTargets.parse(target);
  if (!notify) throw new AutomateError('usage', `expected ${noticeTargets.expected}, found ${target}`);
  const notices = await Notices.open({ ...options, notify }, terminal);
  if (!notices || notices.isEmpty) return exitCodes.credential;
  if (!(await notices.test())) return exitCodes.problemsFound;
  terminal.say(`sent a test message to ${target}`);
  return exitCodes.success;
}
