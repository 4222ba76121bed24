import type { FailureView, RunView } from '../../report/run-view.ts';
import { counted, countText } from '../figures.ts';
import { Empty, Panel } from '../parts/panel.tsx';
import { Table } from '../parts/table.tsx';

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
          { title: 'Records', isNumber: true, cell: (group) => <strong class="bad">{countText(group.count)}</strong> },
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
export function totalsText(view: RunView): string {
  return view.hasTotals ? '' : partText(view);
}

/** Returns a note if figures exclude the parts of a run before it was resumed. Otherwise it is empty. */
export function partText({ earlier }: RunView): string {
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
          {!isOne && `${countText(times)} × `}
          {text}
        </small>
      ))}
      {shown < all && <small>{countText(all - shown)} × other messages</small>}
    </>
  );
}

function recordsText(records: readonly number[], all: number): string {
  return `${records.map(countText).join(', ')}${all > records.length ? ', …' : ''}`;
}
