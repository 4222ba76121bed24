import { useState } from 'preact/hooks';
import type { RunShape } from '../../../serve/shapes.ts';
import { download, requestJson, sendRequest } from '../api.ts';
import { Dialog } from '../frame/dialog.tsx';
import { ActionButton, ProblemNotice } from '../frame/feedback.tsx';
import { goTo } from '../go-to.ts';
import { type Action, useAction } from '../use-loaded.ts';

interface RunActionsProps {
  readonly run: RunShape;
  readonly onChange: () => void;
}

/** Buttons for the actions that the run's state allows: stop, resume, retry failed records, download, delete. */
export function RunActions({ run, onChange }: RunActionsProps) {
  const action = useAction();
  const [isDeleting, setDeleting] = useState(false);
  const { id, state, counts, resumable } = run;
  const path = `/runs/${encodeURIComponent(id)}`;
  const isLiving = state === 'queued' || state === 'running' || state === 'stopping';
  const post = (what: string) => void action.run(() => sendRequest(`${path}/${what}`, { method: 'POST' })).then((ok) => ok && onChange());
  const retry = () => void action.run(async () => goTo(`/runs/${(await requestJson<RunShape>(`${path}/retry`, { method: 'POST' })).id}`));
  return (
    <>
      {!isLiving && <Downloads run={run} action={action} />}
      {!isLiving && (
        <button type="button" onClick={() => setDeleting(true)}>
          Delete
        </button>
      )}
      {!isLiving && !resumable && counts.failed > 0 && (
        <ActionButton action={action} kind="main" onAct={retry}>
          Retry failed
        </ActionButton>
      )}
      {resumable && (
        <ActionButton action={action} kind="main" onAct={() => post('resume')}>
          Resume
        </ActionButton>
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

function Downloads({ run: { id, flow, format, counts }, action }: { readonly run: RunShape; readonly action: Action }) {
  const path = `/runs/${encodeURIComponent(id)}`;
  const save = (what: string, name: string) => void action.run(() => download(`${path}/${what}`, name));
  return (
    <>
      <ActionButton action={action} onAct={() => save('report', `${flow}.html`)}>
        Report
      </ActionButton>
      {counts.failed > 0 && (
        <ActionButton action={action} onAct={() => save('errors', `${flow}.errors.${format}`)}>
          Errors
        </ActionButton>
      )}
      {counts.written > 0 && (
        <ActionButton action={action} onAct={() => save('output', `${flow}.${format}`)}>
          Output
        </ActionButton>
      )}
    </>
  );
}

function DeleteDialog({ path, onClose }: { readonly path: string; readonly onClose: () => void }) {
  const action = useAction();
  const remove = () => void action.run(() => sendRequest(path, { method: 'DELETE' })).then((ok) => ok && goTo('/runs'));
  return (
    <Dialog title="Delete this run?" onClose={onClose}>
      <p>Its input, output and errors file are deleted for good. Its credits stay counted.</p>
      <ProblemNotice problem={action.problem} />
      <div class="actions">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <ActionButton action={action} kind="danger" onAct={remove}>
          Delete
        </ActionButton>
      </div>
    </Dialog>
  );
}
