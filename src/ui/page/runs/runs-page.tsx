import { useLocation } from 'preact-iso/router';
import { creditText, formatCount } from '../../../core/text/number.ts';
import type { KeyOnPage } from '../../../serve/page/page-shapes.ts';
import type { FlowShape, RunListShape, RunShape } from '../../../serve/shapes.ts';
import { Table } from '../../parts/table.tsx';
import { Bar, Empty, Panel, RunState } from '../../parts/tiles.tsx';
import { goTo } from '../api.ts';
import { LoadedView, OlderButton, Time } from '../frame/feedback.tsx';
import { SelectField } from '../frame/fields.tsx';
import { Frame } from '../frame/frame.tsx';
import { useFlowNames, useLoaded, useOlder } from '../use-loaded.ts';

const filters = ['flow', 'state', 'key'];

const states = ['queued', 'running', 'stopping', 'stopped', 'finished', 'failed'];

/** The page that lists runs, with the newest first. New runs appear automatically. */
export function RunsPage() {
  const { query } = useLocation();
  const search = new URLSearchParams(Object.entries(query).filter(([name, value]) => filters.includes(name) && value !== '')).toString();
  return (
    <Frame title="Runs" sub="newest first; new runs appear automatically">
      <div class="stack">
        <Filters query={query} />
        <RunPages key={search} search={search} />
      </div>
    </Frame>
  );
}

function Filters({ query }: { readonly query: Readonly<Record<string, string>> }) {
  const { data: flows } = useLoaded<{ readonly flows: readonly FlowShape[] }>('/flows');
  const { data: keys } = useLoaded<{ readonly keys: readonly KeyOnPage[] }>('/keys');
  const set = (name: string) => (value: string) => {
    const changed = new URLSearchParams(query);
    if (value === '') changed.delete(name);
    else changed.set(name, value);
    goTo(`/runs${changed.size > 0 ? `?${changed}` : ''}`, { replace: true });
  };
  const choicesOf = (all: string, choices: readonly (readonly [string, string])[] = []) => [['', all] as const, ...choices];
  return (
    <search class="filters" aria-label="Runs that are shown">
      <SelectField
        label="Flow"
        value={query.flow ?? ''}
        choices={choicesOf(
          'all flows',
          flows?.flows.map(({ id, name }) => [id, name]),
        )}
        onChange={set('flow')}
      />
      <SelectField
        label="State"
        value={query.state ?? ''}
        choices={choicesOf(
          'all states',
          states.map((state) => [state, state]),
        )}
        onChange={set('state')}
      />
      <SelectField
        label="Key"
        value={query.key ?? ''}
        choices={choicesOf(
          'all keys',
          keys?.keys.map(({ id, name }) => [id, name]),
        )}
        onChange={set('key')}
      />
    </search>
  );
}

function RunPages({ search }: { readonly search: string }) {
  const path = `/runs?limit=50${search && `&${search}`}`;
  const first = useLoaded<RunListShape>(path, 2000);
  const older = useOlder<RunListShape>(`${path}&`);
  return (
    <LoadedView loaded={first}>
      {(newest) => {
        const cursor = older.cursor(newest.next_cursor);
        const runs = joined(
          newest.runs,
          older.parts.flatMap((part) => part.runs),
        );
        if (runs.length === 0) return <NoRuns isFiltered={search !== ''} />;
        return (
          <section class="panel">
            <RunTable runs={runs} />
            <OlderButton {...{ older, cursor }}>Show older runs</OlderButton>
          </section>
        );
      }}
    </LoadedView>
  );
}

/** The pages can overlap, because new runs push older ones to the next page. */
function joined(newest: readonly RunShape[], older: readonly RunShape[]): RunShape[] {
  const ids = new Set(newest.map(({ id }) => id));
  return [...newest, ...older.filter(({ id }) => !ids.has(id))];
}

function NoRuns({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <Panel title="No such run">
        <Empty>
          No run has this flow, state and key. <a href="/runs">Show all runs</a>
        </Empty>
      </Panel>
    );
  }
  return (
    <Panel title="No run yet">
      <Empty>
        Choose a <a href="/">flow</a> and run it over a file, or send records with curl: each flow shows the command.
      </Empty>
    </Panel>
  );
}

export function RunTable({ runs, isOfOneFlow = false }: { readonly runs: readonly RunShape[]; readonly isOfOneFlow?: boolean }) {
  const names = useFlowNames();
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
              <a href={`/runs/${id}`}>{isOfOneFlow ? shortId(id) : (names(flow) ?? '…')}</a>
              {!isOfOneFlow && <small>{shortId(id)}</small>}
            </>
          ),
        },
        { title: 'State', cell: (run) => <RunState run={run} /> },
        { title: 'Started', cell: ({ started_at, created_at }) => <Time at={started_at ?? created_at} /> },
        { title: 'Written', isNumber: true, cell: ({ counts }) => formatCount(counts.written) },
        ...(runs.some(({ counts: { rows = 0, written }, ended_at }) => ended_at !== null && rows > 0 && rows !== written)
          ? [{ title: 'Rows', isNumber: true, cell: ({ counts: { rows } }: RunShape) => (rows === undefined ? '' : formatCount(rows)) }]
          : []),
        {
          title: 'Failed',
          isNumber: true,
          cell: ({ counts: { failed } }) => <span class={failed > 0 ? 'bad' : undefined}>{formatCount(failed)}</span>,
        },
        ...(isOfOneFlow ? [] : [{ title: '', cell: (run: RunShape) => <Parts run={run} /> }]),
        { title: 'Credits', isNumber: true, cell: (run) => creditText(run.credits) },
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
