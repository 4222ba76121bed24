import { useState } from 'preact/hooks';
import type { Connection, ConnectionTest } from '../../../serve/page/page-shapes.ts';
import { Panel } from '../../parts/panel.tsx';
import { Table } from '../../parts/table.tsx';
import { requestJson, sendRequest } from '../api.ts';
import { CodeBlock } from '../frame/copy.tsx';
import { Dialog } from '../frame/dialog.tsx';
import { ActionButton, LoadedView, ProblemNotice } from '../frame/feedback.tsx';
import { Frame } from '../frame/frame.tsx';
import { Time } from '../frame/times.tsx';
import { useAction, useLoaded } from '../use-loaded.ts';
import { AddConnection } from './add-connection.tsx';
import { TestResultView } from './test-result-view.tsx';

/** The page that lists the saved connections, which flows refer to by name. */
export function IntegrationsPage() {
  const connections = useLoaded<{ readonly connections: readonly Connection[] }>('/connections');
  const [isAdding, setAdding] = useState(false);
  return (
    <Frame
      title="Integrations"
      sub="the platforms that your flows use as connections"
      actions={
        <button type="button" class="main" onClick={() => setAdding(true)}>
          Add a platform
        </button>
      }
    >
      <div class="stack">
        <LoadedView loaded={connections}>
          {({ connections: all }) =>
            all.length === 0 ? <NoConnections /> : <Connections connections={all} onChange={connections.reload} />
          }
        </LoadedView>
        <Panel title="MCP servers on this machine" note="started by a command">
          <p class="empty">A page must not start programs, so these are added on the command line:</p>
          <CodeBlock
            text={'automate connections add mcp files --command "npx -y @modelcontextprotocol/server-filesystem ."'}
            label="Command"
          />
        </Panel>
      </div>
      {isAdding && <AddConnection onClose={() => setAdding(false)} onAdded={connections.reload} />}
    </Frame>
  );
}

function NoConnections() {
  return (
    <Panel title="Your Platforms">
      <p class="empty">
        No platform yet. Add one with its address and credential, and flows can refer to it with <code>connection</code>. Or use a command:
      </p>
      <CodeBlock text="automate connections add" label="Command that adds a connection" />
    </Panel>
  );
}

interface ConnectionsProps {
  readonly connections: readonly Connection[];
  readonly onChange: () => void;
}

function Connections({ connections, onChange }: ConnectionsProps) {
  return (
    <Panel title="Your Platforms">
      <Table
        label="Your Platforms"
        rows={connections}
        columns={[
          { title: 'Name', cell: ({ name }) => <strong>{name}</strong> },
          { title: 'Kind', cell: ({ type }) => type.toUpperCase() },
          { title: 'Address', isWide: true, cell: ({ address }) => <code>{address}</code> },
          { title: 'Authentication', cell: ({ auth }) => auth },
          { title: 'Credential', cell: ({ credential }) => credential ?? <span class="dim">none</span> },
          { title: 'Last test', cell: (connection) => <LastTest connection={connection} /> },
          { title: '', cell: (connection) => <ConnectionActions connection={connection} onChange={onChange} /> },
        ]}
      />
    </Panel>
  );
}

function LastTest({ connection: { tested_at, problem } }: { readonly connection: Connection }) {
  if (tested_at === null) return <span class="dim">never</span>;
  const isGood = problem === null || problem === '';
  return (
    <>
      <span class={`state ${isGood ? 'good' : 'bad'}`}>{isGood ? 'works' : 'failed'}</span> <Time at={tested_at} />
      {!isGood && <small>{problem}</small>}
    </>
  );
}

function ConnectionActions({ connection: { name }, onChange }: { readonly connection: Connection; readonly onChange: () => void }) {
  const action = useAction();
  const [result, setResult] = useState<ConnectionTest>();
  const [isRemoving, setRemoving] = useState(false);
  const path = `/connections/${encodeURIComponent(name)}`;
  const test = () =>
    void action.run(async () => {
      setResult(await requestJson<ConnectionTest>(`${path}/tests`, { method: 'POST' }));
      onChange();
    });
  const remove = () =>
    void action.run(async () => {
      await sendRequest(path, { method: 'DELETE' });
      onChange();
    });
  return (
    <div class="row">
      <ActionButton action={action} onAct={test}>
        Test
      </ActionButton>
      <button type="button" aria-label={`Remove ${name}`} onClick={() => setRemoving(true)}>
        Remove
      </button>
      {result && (
        <Dialog title={`Test of ${name}`} onClose={() => setResult(undefined)}>
          <TestResultView result={result} />
        </Dialog>
      )}
      {isRemoving && (
        <Dialog title={`Remove ${name}?`} onClose={() => setRemoving(false)}>
          <p>Flows that use it will no longer be valid. Its credential is not deleted.</p>
          <ProblemNotice problem={action.problem} />
          <div class="actions">
            <ActionButton action={action} kind="danger" onAct={remove}>
              Remove
            </ActionButton>
          </div>
        </Dialog>
      )}
      {!isRemoving && <ProblemNotice problem={action.problem} />}
    </div>
  );
}
