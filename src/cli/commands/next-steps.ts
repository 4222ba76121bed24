import type { Ending } from '../../core/event.ts';
import type { OutputPlan } from '../output-files.ts';
import { shellWord } from '../show/number.ts';
import type { SummaryFacts } from '../show/summary.ts';
import type { Tally } from '../show/tally.ts';
import type { RunOptions } from './run-options.ts';

/** What to do after a run that did not do everything, as command lines to copy. */
export function nextSteps(ending: Ending, tally: Tally, flow: string, options: RunOptions, files: OutputPlan): SummaryFacts['next'] {
  const steps: { why: string; command: string }[] = [];
  if (ending !== 'complete' && options.in !== '-') {
    const skip = Math.max(tally.lastRecord, options.skip ?? 0);
    steps.push({
      why: 'go on behind the last record written',
      command: commandLine(flow, options, ['--skip', String(skip), '--out', renamed(files.out, 'rest')]),
    });
  }
  if (tally.failed > 0) {
    steps.push({
      why: 'try the failed records again',
      command: commandLine(flow, { ...options, in: files.errors }, ['--out', renamed(files.out, 'retry')]),
    });
  }
  return steps;
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
