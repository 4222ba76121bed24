import type { Ending } from '../../core/event.ts';
import type { OutputPlan } from '../output-files.ts';
import type { SummaryFacts } from '../show/summary.ts';
import type { Tally } from '../show/tally.ts';
import { shellWord } from '../show/text.ts';
import type { RunOptions } from './run-options.ts';

/** What to do after a run that did not do everything, as command lines to copy. */
export function nextSteps(ending: Ending, tally: Tally, flow: string, options: RunOptions, files: OutputPlan): SummaryFacts['next'] {
  return [
    ...(ending === 'complete' ? [] : goingOn(tally.lastRecord, flow, options, files)),
    ...(tally.failed > 0
      ? [
          {
            why: 'try the failed records again',
            command: commandLine(flow, { ...options, in: files.errors }, ['--out', renamed(files.out, 'retry')]),
          },
        ]
      : []),
  ];
}

/** How to do the rest: a file is gone on with, behind what was streamed a new run begins. */
function goingOn(lastRecord: number, flow: string, options: RunOptions, files: OutputPlan): { why: string; command: string }[] {
  if (files.out !== '-') return [{ why: 'go on', command: resumeCommand(flow, options) }];
  if (options.in === '-') return [];
  const skip = String(Math.max(lastRecord, options.skip ?? 0));
  return [{ why: 'go on behind the last record written', command: commandLine(flow, options, ['--skip', skip]) }];
}

/** The command line that goes on with this run: the one it was started with, and --resume. */
export function resumeCommand(flow: string, options: RunOptions): string {
  const [, , command, ...args] = process.argv;
  if (command !== 'run') return commandLine(flow, options, ['--out', options.out, '--resume']);
  const kept = args.filter((arg) => arg !== '--force' && arg !== '--resume');
  return ['automate', command, ...kept, '--resume'].map(shellWord).join(' ');
}

function renamed(out: string, word: string): string {
  if (out === '-') return '-';
  return out.replace(/((?:\.[A-Za-z]+)?(?:\.gz)?)$/, `.${word}$1`);
}

function commandLine(flow: string, options: RunOptions, more: readonly string[]): string {
  const kept = [
    ...(options.concurrency === undefined ? [] : ['--concurrency', String(options.concurrency)]),
    ...(options.allowHttp ? ['--allow-http'] : []),
    ...(options.cacert === undefined ? [] : ['--cacert', options.cacert]),
  ];
  return ['automate', 'run', flow, '--in', options.in, ...more, ...kept].map(shellWord).join(' ');
}
