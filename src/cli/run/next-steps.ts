import { type CodedMessage, detailsOf, type ErrorDetails } from '../../core/error-code.ts';
import type { Ending } from '../../core/event.ts';
import type { Step } from '../../core/node.ts';
import { allSteps } from '../../core/plan.ts';
import { counted, creditsText, formatCount } from '../../core/text/number.ts';
import { shellWord } from '../../core/text/quoted-word.ts';
import { envOf } from '../../files/home.ts';
import { hasFailedList } from '../../output/failed-records.ts';
import { canResume, isFileOrFree, type OutputPlan } from '../../output/output-plan.ts';
import type { CompleteCounts } from '../../output/truth-file.ts';
import { extensionOf, formatOfPath, traitsOf } from '../../records/formats.ts';
import type { NextStep } from '../../report/reported-run.ts';
import { neverFoundIn } from '../../report/run-view.ts';
import type { FailureGroup, Tally } from '../../report/tally.ts';
import type { EndedRun, OpenRun, RunWords } from '../../run/run-request.ts';
import { envWords, messageWithAdvice } from '../advice.ts';
import type { Declared } from '../options.ts';
import { testRequestOptions } from '../test-request/test-request-options.ts';
import { runOptions, type WrittenRun } from './run-options.ts';

export function wordsOf(written: WrittenRun): RunWords {
  return {
    command: runAgain(written, () => true, []),
    next: (ended) => [...nextSteps(written, ended), ...restoreSteps(ended.run)],
    message: (reason) => messageInRun(reason, written),
  };
}

/** If the server refused a secret that was set recently, suggests restoring the previous one. */
function restoreSteps({ progress: { tally }, session: { credentials }, request: { options } }: OpenRun): NextStep[] {
  if (![...tally.failures.values()].some(({ status }) => status === 401 || status === 403)) return [];
  const why = 'if the new secret was refused, restore the previous one with';
  const env = envWords(envOf(options.env));
  return credentials.unproven().map((name) => ({ why, command: `automate credentials restore ${name}${env}` }));
}

/** If the input or output broke, adds the number of finished records and the command line for the rest. */
export function messageInRun(reason: CodedMessage, written: WrittenRun): string {
  const brokenInput = detailsOf(reason, 'input-broken');
  const brokenOutput = detailsOf(reason, 'output-broken');
  if (!brokenInput && !brokenOutput) return messageWithAdvice(reason);
  const cause = (reason as Error).cause as CodedMessage;
  if (brokenInput && cause.code === 'input-changed') return [cause.message, ...startOverLines(brokenInput, written)].join('\n');
  const message = messageWithAdvice(cause);
  if (brokenInput) return [message, ...restLines(brokenInput, written)].join('\n');
  const { records } = brokenOutput as ErrorDetails['output-broken'];
  const done = `${counted(records, 'record')} ${records === 1 ? 'is' : 'are'} done; once that is solved, resume with`;
  return `${message}\n${done}:\n  ${resumeCommand(written)}`;
}

/** Says which records were finished before the input became unreadable, and which options run the rest. */
function restLines({ records, written: rows, failed, files }: ErrorDetails['input-broken'], { options }: WrittenRun): string[] {
  if (rows + failed === 0) return [];
  const isStreamed = !isFileOrFree(files.out);
  // The next command needs a different errors file, unless the default name of that file changes together with the name of the output.
  const keepsErrors = failed > 0 && files.errors !== undefined && (isStreamed || options.errors !== undefined);
  const others = [...(isStreamed ? [] : ['--out']), ...(keepsErrors ? ['--errors'] : [])];
  const rest = `--skip ${records}${others.length === 0 ? '' : `, and another ${others.join(' and ')}`}`;
  return [`${doneText(rows, failed, files)}; once the input is corrected, run the rest with ${rest}`];
}

/** The lines say what the output contains if the input has changed, and give the command that starts over. */
function startOverLines({ written: rows, failed, files }: ErrorDetails['input-broken'], written: WrittenRun): string[] {
  const done = rows + failed === 0 ? [] : [`${doneText(rows, failed, files)}; they can be a mixture of the old and the new content`];
  const hasFile = isFileOrFree(files.out) || (files.errors !== undefined && failed > 0);
  const more = written.options.replace || !hasFile ? [] : ['--force'];
  const command = runAgain(written, (_, { about }) => about !== 'start', more);
  return [...done, 'start over once no other program writes to the file:', `  ${command}`];
}

function doneText(written: number, failed: number, { out, errors }: ErrorDetails['input-broken']['files']): string {
  const before = `${counted(written + failed, 'record')} before that`;
  const [outName, errorsName] = [out, errors].map((path) => (path === '-' ? 'stdout' : path));
  if (failed === 0) return `the ${before} went to ${outName}`;
  if (errors === undefined) return `of the ${before}, ${formatCount(written)} went to ${outName}, and ${formatCount(failed)} failed`;
  if (written === 0) return `the ${before} failed and went to ${errorsName}`;
  return `of the ${before}, ${formatCount(written)} went to ${outName}, and ${formatCount(failed)} failed and went to ${errorsName}`;
}

function nextSteps(request: WrittenRun, ended: EndedRun): NextStep[] {
  return [
    ...checkSteps(request, ended),
    ...resumeSteps(request, ended),
    ...startOverSteps(request, ended),
    ...retrySteps(request, ended),
    ...previewSteps(request, ended),
  ];
}

/** The advice is for a run in which no server responded or every record failed in the same way. */
function checkSteps(request: WrittenRun, { run, ending }: EndedRun): NextStep[] {
  const { tally } = run.progress;
  const steps = allSteps(run.request.plan.steps);
  if (ending === 'unreachable') {
    const node = tally.stop?.step?.node ?? [...tally.failures.values()][0]?.node ?? steps.find(({ node }) => node.action)?.id ?? '';
    return [{ why: 'check the address, the network and the proxy; try one request with', command: previewCommand(request, node) }];
  }
  // The failures of a step of a `first` node are not among those of records.
  const group = tally.stop?.step ?? [...tally.failures.values()].sort((one, other) => other.count - one.count)[0];
  const step = steps.find(({ id }) => id === group?.node);
  if (ending !== 'same-failure' || !group || !step) return [];
  // A run stops at a 400 only if it came from a token server.
  if ([400, 401, 403].includes(group.status ?? 0)) {
    const credentials = credentialSteps(request, step, group);
    if (credentials.length > 0) return credentials;
  }
  const why = `check ${whatToCheck(group, step)} of ${step.id}; try one request with`;
  return [{ why, command: previewCommand(request, step.id, 'firstRecords' in group ? group.firstRecords[0] : undefined) }];
}

/** The reason can also be the scopes, for example. */
const noToken = 'the token server issued no token; see which credential is used';

function credentialSteps({ options: { env } }: WrittenRun, { node }: Step, { status }: Pick<FailureGroup, 'status'>): NextStep[] {
  const names = [...new Set(node.action?.credentials.map(({ field }) => field))];
  return names.flatMap((name) => {
    const lineFor = (act: string) =>
      ['automate', 'credentials', act, name, ...(env === undefined ? [] : ['--env', env])].map(shellWord).join(' ');
    return [
      { why: status === 400 ? noToken : 'the server refused the credential; see which one is used', command: lineFor('show') },
      { why: 'if it is wrong or too old, store it again', command: lineFor('set') },
    ];
  });
}

function whatToCheck({ status, class: kind }: Pick<FailureGroup, 'class' | 'status'>, { node }: Step): string {
  const sendsCredential = (node.action?.credentials.length ?? 0) > 0;
  // The answer can also be that of a token server.
  if (kind === 'parse') return sendsCredential ? 'auth, url and response' : 'url and response';
  if (status === 405) return 'method and url';
  if (status === 407) return 'the proxy, which wants a login, and url';
  if (status === 429 || status === 503) return 'the limits of your account';
  if (status === 415) return 'body and Content-Type';
  return sendsCredential ? 'auth and url' : 'auth, which sends no credential, and url';
}

/** Resumes the run if the output is a file. For an ordered stream, starts a new run that skips the finished records. */
function resumeSteps(request: WrittenRun, { run, ending }: EndedRun): NextStep[] {
  if (ending === 'complete') return [];
  const { tally } = run.progress;
  const { files } = run.request;
  const short = ending === 'max-credits' && tally.read + tally.newlyParked === 0 ? shortOf(tally) : undefined;
  if (ending === 'pilot') return [{ why: 'go on with the other records', command: resumeCommand(request) }];
  if (canResume(files))
    return [{ why: short?.why ?? goingOn(ending, raising(tally, 'resume')), command: resumeCommand(request, short?.more) }];
  const { in: input, unordered } = request.options;
  const rest = input === '-' || unordered ? undefined : restOptions(request, run);
  if (!rest) return [];
  const more = [...rest, ...(short?.more ?? [])];
  const why = short?.why ?? goingOn(ending, raising(tally, 'continue after the last record written'));
  return [{ why, command: runAgain(request, (_, { about }) => about !== 'start', more) }];
}

/** They run only the records after the last one that was written. Undefined if --limit allows no further record. */
function restOptions({ options }: WrittenRun, { progress: { tally }, request: { files } }: OpenRun): string[] | undefined {
  const { skip: skipped = 0, limit } = options;
  const skip = Math.max(tally.lastRecord, skipped);
  const left = limit === undefined ? undefined : limit - (skip - skipped);
  if (left === 0) return undefined;
  return [
    ...['--skip', String(skip)],
    ...(left === undefined ? [] : ['--limit', String(left)]),
    ...(files.isStreamed ? [] : ['--out', insertWord(files.out, 'rest')]),
    ...(tally.failed > 0 && hasErrorsFile(files) ? ['--errors', insertWord(files.errors, 'rest')] : []),
  ];
}

/** If every record failed, the user will change the flow, and a run cannot be resumed with a changed flow. */
function startOverSteps(request: WrittenRun, { run, ending }: EndedRun): NextStep[] {
  if (!canOnlyFail(ending) || !canResume(run.request.files)) return [];
  const more = request.options.replace ? [] : ['--force'];
  return [{ why: 'if you change the flow, start over with', command: runAgain(request, (_, { about }) => about !== 'start', more) }];
}

function canOnlyFail(ending: Ending): boolean {
  return ending === 'same-failure' || ending === 'unreachable';
}

function goingOn(ending: Ending, how: string): string {
  return canOnlyFail(ending) ? `once that is solved, ${how} with (--keep-going turns this stop off)` : `${how} with`;
}

/** If `max_cost` stopped the run, it must be raised first, because a resumed run would stop at once. */
function raising({ stop }: Tally, how: string): string {
  const maxCost = detailsOf(stop, 'max-cost');
  return maxCost ? `raise max_cost of ${maxCost.node}, then ${how}` : how;
}

/** If a credit limit stopped the run before its first record, the next run would stop, too. Undefined if another limit stopped it. */
function shortOf({ stop }: Tally): { readonly why: string; readonly more: readonly string[] } | undefined {
  if (stop?.code === 'allowance')
    return { why: 'the rest of the allowance was not enough for a single record; once there is more, resume with', more: [] };
  const reached = detailsOf(stop, 'max-credits');
  if (!reached) return undefined;
  return {
    why: `not even one record could be completed with ${creditsText(reached.credits)}: one record or batch might need more; resume with a higher N`,
    more: ['--max-credits', 'N'],
  };
}

function resumeCommand(request: WrittenRun, more: readonly string[] = []): string {
  // A resumed run goes on without asking, so it has no pilot.
  return runAgain(request, (name, { about }) => about !== 'start' && name !== 'pilot', ['--resume', ...more]);
}

/** Suggests nothing if the run can be resumed, because more records might fail after that. */
function retrySteps(request: WrittenRun, { run, ending, failed }: EndedRun): NextStep[] {
  const { files } = run.request;
  const isWhole = ending === 'complete' || !canResume(files);
  if (failed === 0 || !isWhole || !hasErrorsFile(files)) return [];
  // If --set contains a secret, the command shows *** instead.
  const secret = canResume(files) && !hasFailedList(files.out) ? ' (write the secret instead of ***)' : '';
  return [{ why: retryText(run.progress.tally, failed, files) + secret, command: retryCommand(request, files) }];
}

type PlanWithErrors = OutputPlan & { readonly errors: string };

function hasErrorsFile(files: OutputPlan): files is PlanWithErrors {
  return files.errors !== undefined && isFileOrFree(files.errors);
}

/** Returns the reason for suggesting a retry. Records that could not be read fail again unless the user corrects them first. */
function retryText({ failures }: Tally, failed: number, { errors, errorsFormat }: PlanWithErrors): string {
  const unread = [...failures.values()].reduce((sum, { class: kind, count: times }) => sum + (kind === 'input' ? times : 0), 0);
  if (unread === 0) return 'retry failed records';
  const column = traitsOf(errorsFormat).hasHeader ? '_error_class' : '_error.class';
  if (unread < failed) return `retry failed records; first correct those of class input in ${errors} and clear their ${column}`;
  const [them, their] = unread === 1 ? ['it', 'its'] : ['them', 'their'];
  return `${counted(unread, 'record')} could not be read; correct ${them} in ${errors} and clear ${their} ${column}, then run`;
}

/** Without a list of failed records (a stream, or a secret in --set), the command runs the errors file without the input's options. */
function retryCommand(request: WrittenRun, files: PlanWithErrors): string {
  const { errors, errorsFormat, isStreamed, out } = files;
  if (canResume(files) && hasFailedList(files.out)) return commandLine('retry', out, []);
  return runAgain(request, (_, { about }) => about === undefined, [
    ...['--in', errors],
    ...(formatOfPath(errors) ? [] : ['--in-format', extensionOf(errorsFormat, errors).slice(1)]),
    ...(errorsFormat.delimiter === undefined ? [] : ['--delimiter', errorsFormat.delimiter === '\t' ? 'tab' : errorsFormat.delimiter]),
    ...['--out', isStreamed ? out : insertWord(out, 'retry'), '--errors', insertWord(errors, 'retry')],
  ]);
}

function insertWord(path: string, word: string): string {
  if (path === '-') return '-';
  return path.replace(/((?:\.[A-Za-z]+)?(?:\.gz)?)$/, `.${word}$1`);
}

/** If no response contained a path in a node's map, suggests `test-request`, which lists the paths in a response. */
function previewSteps(request: WrittenRun, { run, failed }: EndedRun): NextStep[] {
  const { hits, answered } = run.progress.tally;
  // A retry in which no record failed has deleted its errors file, from which the preview would take a record.
  if (request.retryOf !== undefined && failed === 0) return [];
  const missing = [...hits.values()].flat().find(({ found, of }) => found === 0 && of > 0) ?? neverFoundIn(run)?.[0];
  if (!missing || request.options.in === '-') return [];
  const command = previewCommand(request, missing.node, answered.get(missing.node));
  return [{ why: `no answer has ${missing.path}; list the paths of an answer with`, command }];
}

/** Options for the input are left out if it was stdin, which cannot be read again. */
function previewCommand(request: WrittenRun, node: string, record = 1): string {
  const { retryOf, options } = request;
  const isStdin = options.in === '-';
  const isRetry = retryOf !== undefined;
  const words = [
    ...(isRetry ? ['--in', options.in] : []),
    ...commandWords(request, (name, { about }) => Object.hasOwn(testRequestOptions, name) && !(isStdin && about === 'input')),
    ...(record === 1 || isStdin || isRetry ? [] : ['--record', String(record)]),
    ...['--node', node],
  ];
  return commandLine('test-request', request.flow, words);
}

type OptionFilter = (name: string, option: Declared<unknown>) => boolean;

/** Keeps the options that `choose` selects. The options in `more` are added and replace options of the same name. */
function runAgain(request: WrittenRun, choose: OptionFilter, more: readonly string[]): string {
  const words = commandWords(request, (name, option) => choose(name, option) && !more.includes(option.flags.split(' ')[0] ?? ''));
  const [command, argument] = request.retryOf === undefined ? ['run', request.flow] : ['retry', request.retryOf];
  return commandLine(command, argument, [...words, ...more]);
}

function commandWords({ written }: WrittenRun, choose: OptionFilter): string[] {
  return [...written].flatMap(([name, words]) => (choose(name, runOptions[name as keyof typeof runOptions]) ? words : []));
}

function commandLine(command: string, argument: string, words: readonly string[]): string {
  return ['automate', command, argument, ...words].map(shellWord).join(' ');
}

/** The text for a run that did nothing, because an earlier run with the same command line had written the whole output. */
export function alreadyCompleteText(request: WrittenRun, files: OutputPlan, { written, failed, filtered = 0 }: CompleteCounts): string {
  const counts = [
    `${formatCount(written)} written`,
    ...(filtered > 0 ? [`${formatCount(filtered)} filtered`] : []),
    ...(failed > 0 ? [`${formatCount(failed)} failed`] : []),
  ];
  return [
    `${files.out} is complete already (${counts.join(', ')}): nothing was sent`,
    ...(failed > 0 && hasErrorsFile(files) ? [`  retry failed records:\n    ${retryCommand(request, files)}`] : []),
    `  run all records again:\n    ${runAgain(request, (_, { about }) => about !== 'start', ['--replace'])}`,
  ].join('\n');
}
