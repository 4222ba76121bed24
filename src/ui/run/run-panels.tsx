import type { ComponentChildren } from 'preact';
import { durationText } from '../../core/duration.ts';
import { counted, creditText, formatCount } from '../../core/text/number.ts';
import type { RunView } from '../../report/run-view.ts';
import { percent, rate } from '../figures.ts';
import { Bar, type BarPart, Empty, Panel, type Tile, Tiles } from '../parts/tiles.tsx';
import { RatesChart, TimesChart } from './rates-chart.tsx';
import { Failures, JoinTables, LookupTables, MappingTable, PausesTable, SearchTables, StatusTable } from './tables.tsx';

interface RunPanelsProps {
  readonly view: RunView;
  readonly isPartial?: boolean;
  /** Shown before the figures, such as the rows. */
  readonly children?: ComponentChildren;
}

export function RunPanels({ view, isPartial = false, children }: RunPanelsProps) {
  // Next to the failed records.
  const isWithRows = children !== undefined && view.failures.length > 0;
  return (
    <div class="stack">
      <Progress view={view} />
      {children}
      {isWithRows && <Failures view={view} />}
      {!isPartial && <Figures view={view} />}
      {!isWithRows && <Failures view={view} />}
      <MappingTable view={view} />
      {!isPartial && <Answers view={view} />}
      <SearchTables view={view} />
      <JoinTables view={view} />
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
      value: times ? durationText(times.p50Ms) : 'none',
      note: times && `95 % within ${durationText(times.p95Ms)}`,
    },
    creditsTile(view),
    {
      label: 'Paused for rate limits',
      value: pauses.times === 0 ? 'never' : durationText(pauses.totalMs),
      note: pauses.times === 0 ? undefined : pauses.times === 1 ? 'once' : `${formatCount(pauses.times)} times`,
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
    ...(part === undefined ? [] : [`${creditText(part)} in this part`]),
    ...(limit === undefined ? [] : [`of ${creditText(limit)}`]),
    ...(allowance === undefined ? [] : [`${creditText(allowance.spent)} of ${creditText(allowance.limit)} in ${allowance.month}`]),
    ...(saved > 0 ? [`${creditText(saved)} saved by the cache`] : []),
  ];
  return { label: 'Credits', value: creditText(spent), note: notes.length > 0 ? notes.join(' · ') : undefined };
}

/** For a run that has ended, shows how it ended. */
function Progress({ view }: { readonly view: RunView }) {
  const { counts, total } = view;
  const done = counts.written + counts.failed + counts.filtered;
  const title = total === undefined || total === done ? counted(done, 'record') : `${formatCount(done)} of ${counted(total, 'record')}`;
  const share = shareOf(view, done);
  return (
    <Panel title={title} note={share === undefined || share >= 1 ? undefined : percent(share, 1)}>
      <Bar
        size="large"
        label={`${formatCount(counts.written)} written, ${formatCount(counts.failed)} failed`}
        parts={barParts(view, done, share ?? 1)}
      />
      <CountsLine view={view} />
    </Panel>
  );
}

/** From 0 to 1; undefined while it is not known. */
function shareOf({ state, total, share }: RunView, done: number): number | undefined {
  if (total !== undefined) return total === 0 ? 1 : done / total;
  return state === 'finished' ? 1 : share;
}

/** Minimum share of the bar that is drawn for failed records, so that even one failed record in a million is visible. */
const leastShare = 0.004;

function barParts({ counts }: RunView, done: number, share: number): BarPart[] {
  if (done === 0) return [];
  const bad = counts.failed === 0 ? 0 : Math.max(leastShare, (counts.failed / done) * share);
  const parts: BarPart[] = [
    { kind: 'good', share: Math.max(0, share - bad) },
    { kind: 'bad', share: bad },
  ];
  return parts.filter((part) => part.share > 0);
}

function CountsLine({ view }: { readonly view: RunView }) {
  const { counts, gone, answers, earlier, leftMs, pauses, workers } = view;
  const rows = rowsApart(view);
  const figures: readonly (readonly [number: number, text: string, several?: string])[] = [
    [counts.filtered, 'filtered'],
    [counts.passedThrough, 'passed through with _error'],
    [counts.waiting, 'wait for an earlier record'],
    [counts.retries, 'retry', 'retries'],
    [counts.cached, 'from the cache'],
    [answers?.used ?? 0, 'kept answer', 'kept answers'],
    [earlier, 'from earlier parts of the run'],
  ];
  const more = figures.filter(([number]) => number > 0);
  return (
    <p class="line">
      <Figure number={counts.written} text="written" />
      {rows !== undefined && <Figure number={rows} text={rows === 1 ? 'row in the output' : 'rows in the output'} />}
      {counts.unchanged !== undefined && <Figure number={counts.unchanged} text="of them unchanged" />}
      {gone && <Figure number={gone.records} text="gone from the input" />}
      <Figure number={counts.failed} text="failed" class={counts.failed > 0 ? 'bad' : undefined} />
      {more.map(([number, one, several]) => (
        <Figure number={number} text={number === 1 ? one : (several ?? one)} />
      ))}
      {workers && <WorkersFigure {...workers} />}
      {leftMs !== undefined && <span>about {durationText(leftMs)} left</span>}
      {pauses.current && (
        <span class="warn">
          {pauses.current.gate} paused {durationText(pauses.current.leftMs)} ({pauses.current.reason})
        </span>
      )}
    </p>
  );
}

/** Undefined if each record has one row. While the run is under way, the output lacks the rows that are not flushed yet. */
function rowsApart({ state, counts: { written }, outputRecords }: RunView): number | undefined {
  const hasEnded = state === 'finished' || state === 'stopped' || state === 'failed';
  return hasEnded && outputRecords !== written ? outputRecords : undefined;
}

function WorkersFigure({ now, units }: { readonly now: number; readonly units: number }) {
  if (now === 0) return <span class="warn">waits for a worker</span>;
  return (
    <span>
      <strong>{formatCount(now)}</strong> {now === 1 ? 'worker' : 'workers'}, <strong>{formatCount(units)}</strong>{' '}
      {units === 1 ? 'unit' : 'units'} open
    </span>
  );
}

function Figure({ number, text, class: kind }: { readonly number: number; readonly text: string; readonly class?: string }) {
  return (
    <span>
      <strong class={kind}>{formatCount(number)}</strong> {text}
    </span>
  );
}
