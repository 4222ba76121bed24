import { useEffect, useState } from 'preact/hooks';
import { durationText } from '../../../core/duration.ts';
import type { RunView } from '../../../report/run-view.ts';
import type { ProgressData, RunShape } from '../../../serve/shapes.ts';
import { bytesText } from '../../figures.ts';
import { RunState } from '../../parts/tiles.tsx';
import { RunPanels } from '../../run/run-panels.tsx';
import { download, goTo, requestJson, sendRequest } from '../api.ts';
import { ActionButton, DialogActions, LoadedView, ProblemNotice, Time } from '../frame/feedback.tsx';
import { Dialog } from '../frame/fields.tsx';
import { Frame } from '../frame/frame.tsx';
import { type PageAction, useAction, useEvery, useFlowNames, useLoaded } from '../use-loaded.ts';
import { followRun, viewOfRun, withProgress, withTotals } from './run-events.ts';
import { RunRows } from './run-rows.tsx';
import { shortId } from './runs-page.tsx';

/** The states in which a run's figures can still change. */
const living = new Set(['queued', 'running', 'stopping']);

/** Interval in ms at which the figures of an active run are loaded. */
const figuresEveryMs = 2000;

export function RunPage({ id }: { readonly id: string }) {
  const path = `/runs/${encodeURIComponent(id)}`;
  const run = useLoaded<RunShape>(path);
  const state = run.data?.state;
  const isLiving = state !== undefined && living.has(state);
  const figures = useLoaded<RunView>(state === undefined || state === 'queued' ? undefined : `${path}/view`);
  const reload = () => {
    run.reload();
    figures.reload();
  };
  const progress = useProgress(id, isLiving, reload);
  useEvery(isLiving ? figuresEveryMs : undefined, () => {
    if (figures.data?.earlier) run.refresh();
    figures.refresh();
  });
  const { data } = run;
  const names = useFlowNames();
  return (
    <Frame
      title={(data && names(data.flow)) ?? 'Run'}
      mark={data && <RunState run={data} />}
      sub={data && <SubTitle run={data} />}
      actions={data && <RunActions run={data} onChange={run.reload} />}
    >
      <LoadedView loaded={run}>
        {(loaded) => {
          const now = Date.now();
          const isPartial = figures.data === undefined;
          const view = { ...(figures.data ? withTotals(figures.data, loaded, now) : viewOfRun(loaded, now)), state: loaded.state };
          const shown = isLiving ? withProgress(view, progress, { now, isPartial }) : view;
          return (
            <>
              <Reason run={loaded} />
              <RunPanels view={shown} isPartial={isPartial}>
                <RunRows run={loaded} counts={shown.counts} everyMs={isLiving ? figuresEveryMs : undefined} />
              </RunPanels>
            </>
          );
        }}
      </LoadedView>
    </Frame>
  );
}

/** `onState` is called whenever the state of the run might have changed. */
function useProgress(id: string, isLiving: boolean, onState: () => void): ProgressData | undefined {
  const [progress, setProgress] = useState<ProgressData>();
  useEffect(() => {
    if (!isLiving) return;
    const leaving = new AbortController();
    let isFirst = true;
    void followRun(id, leaving.signal, ({ event, data }) => {
      if (event === 'progress') setProgress(JSON.parse(data) as ProgressData);
      // The first event is skipped, because it repeats the state that the page has already loaded.
      else if (event === 'end' || (event === 'state' && !isFirst)) onState();
      isFirst = false;
    });
    return () => leaving.abort();
  }, [id, isLiving]);
  return progress;
}

function SubTitle({ run }: { readonly run: RunShape }) {
  const { id, key, format, bytes: size, created_at, started_at, ended_at, retry_of } = run;
  return (
    <>
      <code>{shortId(id)}</code> · {format}, {bytesText(size)} · {started_at === null ? 'waiting since' : 'started'}{' '}
      <Time at={started_at ?? created_at} /> by {key === null ? 'the page' : <>key {key.name}</>}
      {started_at !== null && ended_at !== null && `, took ${durationText(Date.parse(ended_at) - Date.parse(started_at))}`}
      {retry_of !== null && (
        <>
          {' '}
          · retries the failed records of <a href={`/runs/${retry_of}`}>{shortId(retry_of)}</a>
        </>
      )}
    </>
  );
}

function Reason({ run: { state, ending, reason, resumable } }: { readonly run: RunShape }) {
  if (state !== 'stopped' && state !== 'failed') return null;
  return (
    <div class={`notice ${state === 'failed' ? 'bad' : 'warn'}`}>
      <strong>{state === 'failed' ? 'An error ended it' : `Stopped: ${ending ?? ''}`}</strong>
      {reason !== null && <span>{reason}</span>}
      {resumable && <span>Its finished records are written. Resume continues after them.</span>}
    </div>
  );
}

interface RunActionsProps {
  readonly run: RunShape;
  readonly onChange: () => void;
}

function RunActions({ run, onChange }: RunActionsProps) {
  const action = useAction();
  const [isDeleting, setDeleting] = useState(false);
  const { id, state, counts, resumable } = run;
  const path = `/runs/${encodeURIComponent(id)}`;
  const isLiving = state === 'queued' || state === 'running' || state === 'stopping';
  const post = (what: string) => void action.run(() => sendRequest(`${path}/${what}`, { method: 'POST' })).then((ok) => ok && onChange());
  const retry = () => void action.run(async () => goTo(`/runs/${(await requestJson<RunShape>(`${path}/retry`, { method: 'POST' })).id}`));
  return (
    <>
      {resumable && (
        <ActionButton action={action} kind="main" onAct={() => post('resume')}>
          Resume
        </ActionButton>
      )}
      {!isLiving && <Downloads run={run} action={action} />}
      {!isLiving && !resumable && counts.failed > 0 && (
        <ActionButton action={action} onAct={retry}>
          Retry failed
        </ActionButton>
      )}
      {!isLiving && (
        <button type="button" onClick={() => setDeleting(true)}>
          Delete
        </button>
      )}
      {isLiving && (
        <ActionButton action={action} isDisabled={state === 'stopping'} onAct={() => post('stop')}>
          Stop
        </ActionButton>
      )}
      <ProblemNotice problem={action.problem} />
      {isDeleting && <DeleteDialog path={path} onClose={() => setDeleting(false)} />}
    </>
  );
}

function Downloads({ run: { id, flow, format, counts, resumable }, action }: { readonly run: RunShape; readonly action: PageAction }) {
  const path = `/runs/${encodeURIComponent(id)}`;
  const save = (what: string, name: string) => void action.run(() => download(`${path}/${what}`, name));
  return (
    <>
      {counts.written > 0 && (
        <ActionButton action={action} kind={resumable ? undefined : 'main'} onAct={() => save('output', `${flow}.${format}`)}>
          Output
        </ActionButton>
      )}
      {counts.failed > 0 && (
        <ActionButton action={action} onAct={() => save('errors', `${flow}.errors.${format}`)}>
          Errors
        </ActionButton>
      )}
      <ActionButton action={action} onAct={() => save('report', `${flow}.html`)}>
        Report
      </ActionButton>
    </>
  );
}

function DeleteDialog({ path, onClose }: { readonly path: string; readonly onClose: () => void }) {
  const action = useAction();
  const remove = () => void action.run(() => sendRequest(path, { method: 'DELETE' })).then((ok) => ok && goTo('/runs'));
  return (
    <Dialog title="Delete this run?" onClose={onClose}>
      <p>Its input, output and errors file are deleted for good. Its credits stay counted.</p>
      <DialogActions {...{ action, onClose }} kind="danger" onAct={remove}>
        Delete
      </DialogActions>
    </Dialog>
  );
}
