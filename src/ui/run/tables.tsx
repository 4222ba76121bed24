import { durationText } from '../../core/duration.ts';
import { counted, creditText, formatCount } from '../../core/text/number.ts';
import type { FailureView, RunView, TokenFigures, TokensView } from '../../report/run-view.ts';
import { percent } from '../figures.ts';
import { Table } from '../parts/table.tsx';
import { Bar, Empty, Panel } from '../parts/tiles.tsx';

interface ViewProps {
  readonly view: RunView;
}

export function StatusTable({ view }: ViewProps) {
  const { statuses } = view;
  const all = statuses.reduce((sum, status) => sum + status.count, 0);
  return (
    <Panel title="Answers" note={`by status, of all attempts${partText(view)}`}>
      {statuses.length === 0 ? (
        <Empty>No request was sent.</Empty>
      ) : (
        <Table
          label="Answers by status"
          rows={statuses}
          columns={[
            { title: 'Status', cell: ({ status }) => status },
            { title: 'Answers', isNumber: true, cell: ({ count: times }) => formatCount(times) },
            { title: 'Share', isNumber: true, cell: ({ count: times }) => percent(times, all) },
            {
              title: '',
              isWide: true,
              cell: ({ status, count: times }) => <ShareBar part={times} of={all} isGood={/^(?:2\d\d|ok)$/.test(status)} />,
            },
          ]}
        />
      )}
    </Panel>
  );
}

export function MappingTable({ view }: ViewProps) {
  const { mapping } = view;
  if (mapping.length === 0) return null;
  const nodes = new Set(mapping.map(({ node }) => node));
  return (
    <Panel title="Mapping" note={`how often each path was found${totalsText(view)}`}>
      <Table
        label="Mapping"
        rows={mapping}
        columns={[
          ...(nodes.size > 1 ? [{ title: 'Node', cell: ({ node }: (typeof mapping)[number]) => node }] : []),
          { title: 'Field', cell: ({ field = '' }) => field },
          { title: 'Path', isWide: true, cell: ({ path }) => <code>{path}</code> },
          { title: 'Found', isNumber: true, cell: ({ found, of }) => `${formatCount(found)} of ${formatCount(of)}` },
          { title: '', cell: ({ found, of }) => <ShareBar part={found} of={of} isGood /> },
        ]}
      />
    </Panel>
  );
}

function ShareBar({ part, of, isGood }: { readonly part: number; readonly of: number; readonly isGood: boolean }) {
  return <Bar parts={[{ share: of > 0 ? part / of : 0, kind: isGood ? 'good' : 'plain' }]} />;
}

/** A table of the pauses of each gate (the rate limiter of an API). Nothing is shown if there was no pause. */
export function PausesTable({ view }: ViewProps) {
  const { gates, totalMs } = view.pauses;
  if (gates.length === 0) return null;
  return (
    <Panel title="Pauses" note={`requests were paused for ${durationText(totalMs)} of ${durationText(view.ms)}`}>
      <Table
        label="Pauses"
        rows={gates}
        columns={[
          { title: 'Server', isWide: true, cell: ({ gate }) => <code>{gate}</code> },
          { title: 'Reason', cell: ({ reason }) => reason },
          { title: 'Times', isNumber: true, cell: (gate) => formatCount(gate.times) },
          { title: 'Paused', isNumber: true, cell: ({ ms }) => durationText(ms) },
        ]}
      />
    </Panel>
  );
}

function figuresText({ input, output, cost, askedAgain }: TokenFigures): string {
  const again = askedAgain === undefined ? '' : `, ${formatCount(askedAgain)} asked again`;
  return `${formatCount(input)} in, ${formatCount(output)} out${cost === undefined ? '' : `, cost ${creditText(cost)}`}${again}`;
}

/** A table for each `first` node: how often each of its steps was asked, and what that cost. */
export function SearchTables({ view }: ViewProps) {
  const { searches = [] } = view;
  return (
    <>
      {searches.map(({ node, known, notFound, steps }) => (
        <Panel key={node} title={node} note={`${formatCount(notFound)} not found${knownText(known)}${partText(view)}`}>
          <Table
            label={`Steps of ${node}`}
            rows={steps}
            columns={[
              { title: 'Step', cell: ({ step }) => step },
              { title: 'Found', isNumber: true, cell: ({ found, asked }) => `${formatCount(found)} of ${formatCount(asked)}` },
              { title: 'Failed', isNumber: true, cell: ({ failed }) => formatCount(failed) },
              { title: 'Credits', isNumber: true, cell: ({ credits }) => creditText(credits) },
              ...(steps.some(({ cost }) => cost !== undefined)
                ? [
                    {
                      title: 'Cost',
                      isNumber: true,
                      cell: ({ cost }: (typeof steps)[number]) => (cost === undefined ? '' : creditText(cost)),
                    },
                  ]
                : []),
              { title: '', isWide: true, cell: ({ found, asked }) => <ShareBar part={found} of={asked} isGood /> },
            ]}
          />
        </Panel>
      ))}
    </>
  );
}

function knownText(known: number): string {
  return known === 0 ? '' : `, ${formatCount(known)} needed none`;
}

/** Tables about the joined files and the rules of `check` nodes. */
export function JoinTables({ view }: ViewProps) {
  const { joins = [], brokenRules = [] } = view;
  const rules = brokenRules.flatMap(({ node, rules }) => rules.map((counts) => ({ node, ...counts })));
  return (
    <>
      {joins.length > 0 && (
        <Panel title="Joined files" note={`how often a record was found${partText(view)}`}>
          <Table
            label="Joined files"
            rows={joins}
            columns={[
              { title: 'Node', cell: ({ node }) => node },
              { title: 'File', cell: ({ file }) => file },
              { title: 'Found', isNumber: true, cell: ({ found, of }) => `${formatCount(found)} of ${formatCount(of)}` },
              { title: '', isWide: true, cell: ({ found, of }) => <ShareBar part={found} of={of} isGood /> },
            ]}
          />
        </Panel>
      )}
      {rules.length > 0 && (
        <Panel title="Broken rules" note={`by records${partText(view)}`}>
          <Table
            label="Broken rules"
            rows={rules}
            columns={[
              { title: 'Node', cell: ({ node }) => node },
              { title: 'Rule', isWide: true, cell: ({ rule }) => rule },
              { title: 'Records', isNumber: true, cell: ({ records }) => formatCount(records) },
            ]}
          />
        </Panel>
      )}
    </>
  );
}

/** Tables about lookups and tokens. Each is shown only if nodes of the run use them. */
export function LookupTables({ view }: ViewProps) {
  const { lookups, tokens } = view;
  return (
    <>
      {lookups.length > 0 && (
        <Panel title="Lookups">
          <Table
            label="Lookups"
            rows={lookups}
            columns={[
              { title: 'Node', cell: ({ node }) => node },
              { title: 'Matched', isNumber: true, cell: ({ matched, of }) => `${formatCount(matched)} of ${formatCount(of)}` },
              { title: 'Ambiguous', isNumber: true, cell: ({ ambiguous }) => formatCount(ambiguous) },
              { title: '', isWide: true, cell: ({ matched, of }) => <ShareBar part={matched} of={of} isGood /> },
            ]}
          />
        </Panel>
      )}
      {tokens.length > 0 && (
        <Panel title="Tokens">
          <Table
            label="Tokens"
            rows={tokens}
            columns={[
              { title: 'Node', cell: ({ node }) => node },
              { title: 'Input', isNumber: true, cell: ({ input }) => formatCount(input) },
              { title: 'Output', isNumber: true, cell: ({ output }) => formatCount(output) },
              { title: 'Cost', isNumber: true, cell: ({ cost }) => (cost === undefined ? '' : creditText(cost)) },
              ...(tokens.some(({ askedAgain }) => askedAgain)
                ? [{ title: 'Did not fit', isNumber: true, cell: ({ askedAgain }: TokensView) => formatCount(askedAgain ?? 0) }]
                : []),
              ...(tokens.some(({ part }) => part)
                ? [{ title: 'This part', cell: ({ part }: TokensView) => part && figuresText(part) }]
                : []),
            ]}
          />
        </Panel>
      )}
    </>
  );
}

/** A table of a run's failures, grouped by node, class and status. */
export function Failures({ view }: { readonly view: RunView }) {
  const { failures, moreFailures, counts } = view;
  if (failures.length === 0) {
    return (
      <Panel title="Failures">
        <Empty>{counts.failed > 0 ? 'All failures are from earlier parts of the run.' : 'No record failed.'}</Empty>
      </Panel>
    );
  }
  const groups = failures.length + moreFailures;
  const records = failures.reduce((sum, group) => sum + group.count, 0);
  return (
    <Panel title="Failures" note={`${counted(records, 'record')} in ${counted(groups, 'group')}${totalsText(view)}`}>
      <Table
        label="Failures"
        rows={failures}
        columns={[
          { title: 'Node', cell: ({ node }) => node ?? 'input' },
          { title: 'Reason', isWide: true, cell: (group) => <Reason group={group} /> },
          { title: 'Records', isNumber: true, cell: (group) => <strong class="bad">{formatCount(group.count)}</strong> },
          {
            title: view.hasTotals ? 'First records of this part' : 'First records',
            cell: ({ firstRecords, count: all }) => <span class="nowrap">{recordsText(firstRecords, all)}</span>,
          },
        ]}
      />
      {moreFailures > 0 && <p class="dim">{counted(moreFailures, 'more group')} with fewer records</p>}
    </Panel>
  );
}

/** Returns a note if failures and found paths exclude the parts of a run before it was resumed. Otherwise it is empty. */
function totalsText(view: RunView): string {
  return view.hasTotals ? '' : partText(view);
}

/** Returns a note if figures exclude the parts of a run before it was resumed. Otherwise it is empty. */
function partText({ earlier }: RunView): string {
  return earlier > 0 ? ', this part of the run' : '';
}

function Reason({ group }: { readonly group: FailureView }) {
  const { class: kind, status, messages, count: all } = group;
  const shown = messages.reduce((sum, message) => sum + message.count, 0);
  const isOne = messages.length === 1 && shown === all;
  return (
    <>
      {status === undefined ? kind : `${kind} ${status}`}
      {messages.map(({ text, count: times }) => (
        <small key={text}>
          {!isOne && `${formatCount(times)} × `}
          {text}
        </small>
      ))}
      {shown < all && <small>{formatCount(all - shown)} × other messages</small>}
    </>
  );
}

function recordsText(records: readonly number[], all: number): string {
  return `${records.map(formatCount).join(', ')}${all > records.length ? ', …' : ''}`;
}
