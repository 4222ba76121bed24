import { creditText } from '../../../core/text/number.ts';
import type { FlowShape, ForecastRange, RunListShape, RunShape } from '../../../serve/shapes.ts';
import { Table } from '../../parts/table.tsx';
import { Panel, RunState } from '../../parts/tiles.tsx';
import { CodeBlock, LoadedView, Time } from '../frame/feedback.tsx';
import { Frame } from '../frame/frame.tsx';
import { useLoaded } from '../use-loaded.ts';

const everyMs = 5000;

export function FlowsPage() {
  const flows = useLoaded<{ readonly flows: readonly FlowShape[] }>('/flows', everyMs);
  const runs = useLoaded<RunListShape>('/runs?limit=200', everyMs);
  return (
    <Frame title="Flows" sub="the YAML files in the served folder">
      <LoadedView loaded={flows}>
        {({ flows: all }) => (all.length === 0 ? <NoFlows /> : <FlowList flows={all} runs={runs.data?.runs ?? []} />)}
      </LoadedView>
    </Frame>
  );
}

function NoFlows() {
  return (
    <Panel title="No flow yet">
      <p class="empty">A flow says what to do with each record. Write one to start from, in the folder that is served:</p>
      <CodeBlock text="automate init" label="Command that writes a flow" />
    </Panel>
  );
}

interface FlowListProps {
  readonly flows: readonly FlowShape[];
  readonly runs: readonly RunShape[];
}

function FlowList({ flows, runs }: FlowListProps) {
  const broken = flows.filter(({ problems }) => problems.length > 0);
  return (
    <div class="stack">
      <section class="panel">
        <Table
          label="Flows"
          rows={flows}
          columns={[
            {
              title: 'Flow',
              isWide: true,
              cell: ({ id, name }) => (
                <>
                  <a href={`/flows/${encodeURIComponent(id)}`}>{name}</a>
                  {flows.some((other) => other.id !== id && other.name === name) && <small>{id}</small>}
                </>
              ),
            },
            { title: 'State', cell: ({ state }) => <FlowState state={state} /> },
            { title: 'Nodes', isNumber: true, cell: ({ nodes }) => nodes.length },
            {
              title: 'Credits per record',
              isNumber: true,
              cell: ({ state, credits_per_record }) => (state === 'valid' ? creditRange(credits_per_record) : ''),
            },
            { title: 'Last run', cell: ({ id }) => <LastRun run={runs.find(({ flow }) => flow === id)} /> },
          ]}
        />
      </section>
      {broken.map((flow) => (
        <FlowProblems key={flow.id} flow={flow} />
      ))}
    </div>
  );
}

export function FlowState({ state }: Pick<FlowShape, 'state'>) {
  return <span class={`state ${state === 'valid' ? 'good' : 'bad'}`}>{state}</span>;
}

function LastRun({ run }: { readonly run: RunShape | undefined }) {
  if (run === undefined) return <span class="dim">never</span>;
  return (
    <>
      <RunState run={run} />{' '}
      <a href={`/runs/${run.id}`}>
        <Time at={run.started_at ?? run.created_at} />
      </a>
    </>
  );
}

export function FlowProblems({ flow: { name, problems } }: { readonly flow: FlowShape }) {
  return (
    <Panel title={`Problems of ${name}`} note="runs are refused until they are solved">
      <Table
        label={`Problems of ${name}`}
        rows={problems}
        columns={[
          { title: 'Line', isNumber: true, cell: ({ line }) => line ?? '' },
          { title: 'Column', isNumber: true, cell: ({ column }) => column ?? '' },
          { title: 'Problem', isWide: true, cell: ({ message }) => <span class="lines">{message}</span> },
        ]}
      />
    </Panel>
  );
}

/** Formats a number or range of credits with its noun, such as `1 credit` or `1 to 3 credits`. */
export function creditsText(range: ForecastRange): string {
  return `${creditRange(range)} ${range.least === 1 && range.most === 1 ? 'credit' : 'credits'}`;
}

/** Formats a number or range of credits, such as `1`, `0 to 3` or `at least 1`. */
export function creditRange({ least, most }: ForecastRange): string {
  if (most === null) return `at least ${creditText(least)}`;
  return least === most ? creditText(least) : `${creditText(least)} to ${creditText(most)}`;
}
