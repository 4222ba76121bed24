import type { RunView, TokenFigures, TokensView } from '../../report/run-view.ts';
import { countText, creditFigure, duration, percent } from '../figures.ts';
import { Bar } from '../parts/bar.tsx';
import { Empty, Panel } from '../parts/panel.tsx';
import { Table } from '../parts/table.tsx';
import { partText, totalsText } from './failures.tsx';

interface ViewProps {
  readonly view: RunView;
}

/** A table of the results of all attempts to send requests, with the number of each. */
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
            { title: 'Answers', isNumber: true, cell: ({ count: times }) => countText(times) },
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

/** A table that shows how often each path of a node's map found a value. */
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
          { title: 'Found', isNumber: true, cell: ({ found, of }) => `${countText(found)} of ${countText(of)}` },
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
    <Panel title="Pauses" note={`requests were paused for ${duration(totalMs)} of ${duration(view.ms)}`}>
      <Table
        label="Pauses"
        rows={gates}
        columns={[
          { title: 'Server', isWide: true, cell: ({ gate }) => <code>{gate}</code> },
          { title: 'Reason', cell: ({ reason }) => reason },
          { title: 'Times', isNumber: true, cell: (gate) => countText(gate.times) },
          { title: 'Paused', isNumber: true, cell: ({ ms }) => duration(ms) },
        ]}
      />
    </Panel>
  );
}

function figuresText({ input, output, cost }: TokenFigures): string {
  return `${countText(input)} in, ${countText(output)} out${cost === undefined ? '' : `, cost ${creditFigure(cost)}`}`;
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
              { title: 'Matched', isNumber: true, cell: ({ matched, of }) => `${countText(matched)} of ${countText(of)}` },
              { title: 'Ambiguous', isNumber: true, cell: ({ ambiguous }) => countText(ambiguous) },
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
              { title: 'Input', isNumber: true, cell: ({ input }) => countText(input) },
              { title: 'Output', isNumber: true, cell: ({ output }) => countText(output) },
              { title: 'Cost', isNumber: true, cell: ({ cost }) => (cost === undefined ? '' : creditFigure(cost)) },
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
