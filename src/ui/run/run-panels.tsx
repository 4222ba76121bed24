import type { RunView } from '../../report/run-view.ts';
import { counted, countText, creditFigure, duration, rate } from '../figures.ts';
import { Empty, Panel } from '../parts/panel.tsx';
import { type Tile, Tiles } from '../parts/tiles.tsx';
import { Failures } from './failures.tsx';
import { Progress } from './progress.tsx';
import { RatesChart } from './rates-chart.tsx';
import { LookupTables, MappingTable, PausesTable, StatusTable } from './tables.tsx';
import { TimesChart } from './times-chart.tsx';

interface RunPanelsProps {
  readonly view: RunView;
  /** True if only the counts of the run are known, but no other figures. */
  readonly isPartial?: boolean;
}

/** Shows all panels with figures about a run. */
export function RunPanels({ view, isPartial = false }: RunPanelsProps) {
  return (
    <div class="stack">
      <Progress view={view} />
      {!isPartial && <Figures view={view} />}
      <Failures view={view} />
      <MappingTable view={view} />
      {!isPartial && <Answers view={view} />}
      <LookupTables view={view} />
    </div>
  );
}

function Figures({ view }: { readonly view: RunView }) {
  return (
    <>
      <Tiles tiles={tilesOf(view)} />
      <div class="two">
        <Panel title="Records per second" note={ratesNote(view)}>
          <RatesChart buckets={view.rates} />
        </Panel>
        <Panel title="Response times" note={view.responseTimes && counted(view.responseTimes.count, 'response')}>
          {view.responseTimes ? <TimesChart times={view.responseTimes} /> : <Empty>No server has answered.</Empty>}
        </Panel>
      </div>
    </>
  );
}

function Answers({ view }: { readonly view: RunView }) {
  return (
    <div class="two">
      <StatusTable view={view} />
      <PausesTable view={view} />
    </div>
  );
}

function tilesOf(view: RunView): Tile[] {
  const { responseTimes: times, pauses } = view;
  return [
    { label: 'Records per second', value: averageRate(view), note: peakText(view) },
    {
      label: 'Response time, median',
      value: times ? duration(times.p50Ms) : 'none',
      note: times && `95 % within ${duration(times.p95Ms)}`,
    },
    creditsTile(view),
    {
      label: 'Paused for rate limits',
      value: pauses.times === 0 ? 'never' : duration(pauses.totalMs),
      note: pauses.times === 0 ? undefined : pauses.times === 1 ? 'once' : `${countText(pauses.times)} times`,
    },
  ];
}

function ratesNote(view: RunView): string | undefined {
  const notes = [...(view.earlier > 0 ? ['this part of the run'] : []), ...(view.pauses.times > 0 ? ['shaded while paused'] : [])];
  return notes.length > 0 ? notes.join(', ') : undefined;
}

function averageRate({ rates, ms }: RunView): string {
  const records = rates.reduce((sum, { written, failed }) => sum + written + failed, 0);
  return ms > 0 ? rate((records / ms) * 1000) : '0';
}

function peakText({ rates }: RunView): string | undefined {
  const peak = Math.max(0, ...rates.map(({ written, failed, ms }) => (ms > 0 ? ((written + failed) / ms) * 1000 : 0)));
  return rates.length > 1 ? `peak ${rate(peak)}` : undefined;
}

function creditsTile({ credits: { spent, part, saved, limit, allowance } }: RunView): Tile {
  const notes = [
    ...(part === undefined ? [] : [`${creditFigure(part)} in this part`]),
    ...(limit === undefined ? [] : [`of ${creditFigure(limit)}`]),
    ...(allowance === undefined ? [] : [`${creditFigure(allowance.spent)} of ${creditFigure(allowance.limit)} in ${allowance.month}`]),
    ...(saved > 0 ? [`${creditFigure(saved)} saved by the cache`] : []),
  ];
  return { label: 'Credits', value: creditFigure(spent), note: notes.length > 0 ? notes.join(' · ') : undefined };
}
