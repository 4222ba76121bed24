import type { RunShape } from '../../../serve/shapes.ts';
import { countText, creditFigure } from '../../figures.ts';
import { Table } from '../../parts/table.tsx';
import { Bar, RunState } from '../../parts/tiles.tsx';
import { Time } from '../frame/feedback.tsx';

export function RunTable({ runs, isOfOneFlow = false }: { readonly runs: readonly RunShape[]; readonly isOfOneFlow?: boolean }) {
  return (
    <Table
      label="Runs"
      rows={runs}
      columns={[
        {
          title: isOfOneFlow ? 'Run' : 'Flow',
          isWide: true,
          cell: ({ id, flow }) => (
            <>
              <a href={`/runs/${id}`}>{isOfOneFlow ? shortId(id) : flow}</a>
              {!isOfOneFlow && <small>{shortId(id)}</small>}
            </>
          ),
        },
        { title: 'State', cell: (run) => <RunState run={run} /> },
        { title: 'Started', cell: ({ started_at, created_at }) => <Time at={started_at ?? created_at} /> },
        { title: 'Written', isNumber: true, cell: ({ counts }) => countText(counts.written) },
        {
          title: 'Failed',
          isNumber: true,
          cell: ({ counts: { failed } }) => <span class={failed > 0 ? 'bad' : undefined}>{countText(failed)}</span>,
        },
        ...(isOfOneFlow ? [] : [{ title: '', cell: (run: RunShape) => <Parts run={run} /> }]),
        { title: 'Credits', isNumber: true, cell: (run) => creditFigure(run.credits) },
        { title: 'Key', cell: ({ key }) => key?.name ?? <span class="dim">page</span> },
      ]}
    />
  );
}

function Parts({ run: { counts, share, ended_at } }: { readonly run: RunShape }) {
  const { written, failed } = counts;
  const done = Math.max(1, written + failed);
  const width = ended_at === null ? (share ?? 0) : 1;
  return (
    <Bar
      parts={[
        { kind: 'good', share: (written / done) * width },
        { kind: 'bad', share: (failed / done) * width },
      ]}
    />
  );
}

/** Returns a short form of a run's id. It contains the end, too, because the ids of runs from the same second begin in the same way. */
export function shortId(id: string): string {
  return id.length > 20 ? `${id.slice(0, 12)}…${id.slice(-4)}` : id;
}
