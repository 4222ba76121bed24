import { basename, dirname } from 'node:path';
import { cleaned, excerpt } from '../core/answer/response.ts';
import { rounded } from '../core/spending.ts';
import type { Redactor } from '../credentials/redact.ts';
import type { ReportedRun } from './reported-run.ts';
import { figuresOf, largestFirst, type RunView } from './run-view.ts';

const maxRows = 60;

const maxGroups = 30;

const maxText = 160;

/** The first line of a message is the reason, the second is what to do. */
const maxLines = 2;

const maxCommand = 2000;

/** Shortens lists and texts of a view for a page. For files in automate's home folder, leaves only the names. */
export function pageView(view: RunView, { isOwn, out }: ReportedRun['request']['files']): RunView {
  const { failures, command, reason, state } = view;
  const fileName = (path: string) => shortened(isOwn ? basename(path) : path);
  const withNames = (text: string) => (isOwn ? text.replaceAll(`${dirname(out)}/`, '') : text);
  return {
    ...view,
    flow: shortened(view.flow),
    reason: reason && (state === 'failed' ? shortened(withNames(reason), 500) : shortened(reason)),
    input: fileName(view.input),
    output: fileName(view.output),
    errors: view.errors && fileName(view.errors),
    gone: view.gone && { ...view.gone, file: fileName(view.gone.file) },
    statuses: view.statuses.slice(0, maxRows),
    failures: largestFirst(failures)
      .slice(0, maxGroups)
      .map(({ first: _, messages, ...group }) => ({
        ...group,
        messages: messages.map(({ text, count }) => ({ text: shortened(text), count })),
      })),
    moreFailures: Math.max(0, failures.length - maxGroups),
    mapping: view.mapping
      .slice(0, maxRows)
      .map(({ isPaged: _, field, path, ...hit }) => ({ ...hit, field: field && shortened(field), path: shortened(path) })),
    lookups: view.lookups.slice(0, maxRows).map(({ node, matched, ambiguous, of }) => ({ node, matched, ambiguous, of })),
    tokens: view.tokens.slice(0, maxRows),
    searches: view.searches?.slice(0, maxRows),
    joins: view.joins?.slice(0, maxRows).map((join) => ({ ...join, file: shortened(join.file) })),
    brokenRules: view.brokenRules?.map(({ node, rules }) => ({
      node,
      rules: rules.slice(0, maxRows).map(({ rule, records }) => ({ rule: shortened(rule), records })),
    })),
    credits: { ...view.credits, spent: rounded(view.credits.spent) },
    command: command && cutCommand(command),
    next: view.next.map((step) => ({ why: shortened(step.why), command: cutCommand(step.command) })),
  };
}

/** The data for the web page, with secrets masked. A run that has ended looks as before its end, which the page shows elsewhere. */
export function liveViewOf(run: ReportedRun): RunView {
  const { workers } = run.progress;
  const view = pageView(figuresOf(run), run.request.files);
  return { ...maskedView(view, run.session.redactor), workers: workers && { now: workers.now, units: workers.units } };
}

export function maskedView(view: RunView, redactor: Pick<Redactor, 'text'>): RunView {
  return JSON.parse(JSON.stringify(view), (_, value) => (typeof value === 'string' ? cleaned(redactor.text(value)) : value));
}

function shortened(long: string, length = maxText): string {
  return long
    .split('\n')
    .slice(0, maxLines)
    .map((line) => excerpt(line, length))
    .join('\n');
}

/** Unlike `excerpt`, keeps all spaces, because they can be part of an argument. */
function cutCommand(command: string): string {
  return command.length > maxCommand ? `${command.slice(0, maxCommand).toWellFormed()}...` : command;
}
