import { useState } from 'preact/hooks';
import type { FlowText, NodeLibrary, NodeRequest, ServerInfo, Snippet } from '../../../serve/page/page-shapes.ts';
import type { FlowShape, RunListShape } from '../../../serve/shapes.ts';
import { Table } from '../../parts/table.tsx';
import { Empty, Panel } from '../../parts/tiles.tsx';
import { curlOfCall, curlOfRun } from '../docs-page.tsx';
import { CodeBlock, LoadedView } from '../frame/feedback.tsx';
import { FieldLine } from '../frame/fields.tsx';
import { Frame } from '../frame/frame.tsx';
import { RunTable } from '../runs/runs-page.tsx';
import { useLoaded } from '../use-loaded.ts';
import { creditsText, FlowProblems, FlowState } from './flows-page.tsx';
import { RunDialog } from './run-dialog.tsx';

export function FlowPage({ id }: { readonly id: string }) {
  const flow = useLoaded<FlowShape>(`/flows/${encodeURIComponent(id)}`, 5000);
  const text = useLoaded<FlowText>(`/flows/${encodeURIComponent(id)}/text`, 5000);
  const [isStarting, setStarting] = useState(false);
  const { data } = flow;
  return (
    <Frame
      title={data?.name ?? id}
      mark={data && <FlowState state={data.state} />}
      sub={data && <SubTitle flow={data} />}
      actions={data?.state === 'valid' && <FlowActions id={id} onRun={() => setStarting(true)} />}
    >
      <div class="aside">
        <div class="stack">
          <LoadedView loaded={flow}>{(loaded) => <FlowPanels flow={loaded} text={text.data} />}</LoadedView>
          <LibraryPanel />
        </div>
        {text.data && text.data.text !== null && (
          <aside class="panel" aria-label="Text of the flow">
            <h2>{text.data.file}</h2>
            <CodeBlock text={text.data.text} label="Text of the flow" />
          </aside>
        )}
      </div>
      {isStarting && data && <RunDialog flow={data} onClose={() => setStarting(false)} />}
    </Frame>
  );
}

function SubTitle({ flow }: { readonly flow: FlowShape }) {
  return <>{creditsText(flow.credits_per_record)} per record</>;
}

function FlowActions({ id, onRun }: { readonly id: string; readonly onRun: () => void }) {
  return (
    <>
      <a class="button" href={`/flows/${encodeURIComponent(id)}/test`}>
        Test request
      </a>
      <button type="button" class="main" onClick={onRun}>
        Run
      </button>
    </>
  );
}

interface FlowPanelsProps {
  readonly flow: FlowShape;
  readonly text: FlowText | undefined;
}

function FlowPanels({ flow, text }: FlowPanelsProps) {
  const runs = useLoaded<RunListShape>(`/runs?flow=${encodeURIComponent(flow.id)}&limit=5`, 5000);
  return (
    <>
      {flow.problems.length > 0 && <FlowProblems flow={flow} />}
      {flow.state === 'valid' && <Records flow={flow} />}
      <Panel title="Last runs">
        <LoadedView loaded={runs}>
          {({ runs: last }) =>
            last.length === 0 ? <Empty>This flow has not run yet. Start it with Run.</Empty> : <RunTable runs={last} isOfOneFlow />
          }
        </LoadedView>
      </Panel>
      {flow.nodes.length > 0 && <Nodes flow={flow} text={text} />}
      {flow.state === 'valid' && <CallLines flow={flow} />}
    </>
  );
}

function Records({ flow }: Pick<FlowPanelsProps, 'flow'>) {
  return (
    <Panel title="Records">
      {flow.fields.length === 0 && <Empty>This flow needs no fields of its records. It can also run once, without any records.</Empty>}
      <FieldLine label="needs the fields" fields={flow.fields} />
      <FieldLine label="adds the fields" fields={flow.adds} />
    </Panel>
  );
}

function Nodes({ flow, text }: FlowPanelsProps) {
  return (
    <Panel title="Nodes" note="each record goes through them from first to last">
      <Table
        label="Nodes"
        rows={flow.nodes}
        columns={[
          { title: 'Node', cell: ({ id }) => id },
          { title: 'Type', cell: ({ type }) => type },
          { title: 'Request', isWide: true, cell: ({ id }) => <Request request={text?.requests.find((each) => each.id === id)} /> },
          { title: 'Connection', cell: ({ connection }) => connection ?? <span class="dim">none</span> },
        ]}
      />
    </Panel>
  );
}

function Request({ request }: { readonly request: NodeRequest | undefined }) {
  return request === undefined ? (
    <span class="dim">none</span>
  ) : (
    <code>
      {request.method} {request.url}
    </code>
  );
}

function CallLines({ flow }: { readonly flow: FlowShape }) {
  const { data: server } = useLoaded<ServerInfo>('/server');
  const address = server?.address ?? location.origin;
  return (
    <Panel title="From a program" note="with an API key in AUTOMATE_KEY">
      <h3>One record, answered at once</h3>
      <CodeBlock text={curlOfCall(address, flow)} label="curl for a call" />
      <h3>{flow.fields.length === 0 ? 'Run it once, without records' : 'A file of records'}</h3>
      <CodeBlock text={curlOfRun(address, flow)} label="curl for a run" />
      <p class="dim">
        <a href="/settings/keys">Make a key</a> or read about <a href="/docs">the HTTP interface</a>
      </p>
    </Panel>
  );
}

/** For authors of flows. Lists the node types, and the tools of each MCP connection, as YAML to copy. */
function LibraryPanel() {
  const [isOpen, setOpen] = useState(false);
  return (
    <section class="panel" aria-label="Nodes and tools">
      <details class="library" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>Nodes and tools, as YAML to copy into a flow</summary>
        {isOpen && <Library />}
      </details>
    </section>
  );
}

function Library() {
  const library = useLoaded<NodeLibrary>('/library');
  const [chosen, setChosen] = useState<string>();
  return (
    <LoadedView loaded={library}>
      {({ node_types, connections }) => (
        <>
          <Snippets title="Node types" group="node" snippets={node_types} chosen={chosen} onChoose={setChosen} />
          {connections.map(({ name, problem, tools }) => (
            <div key={name}>
              <Snippets title={`Tools of ${name}`} group={name} snippets={tools} chosen={chosen} onChoose={setChosen} />
              {problem !== null && <p class="warn">{problem}</p>}
            </div>
          ))}
          {connections.length === 0 && (
            <p class="dim">
              No MCP connection yet. Its tools would be here. <a href="/integrations">Add one</a>
            </p>
          )}
        </>
      )}
    </LoadedView>
  );
}

interface SnippetsProps {
  readonly title: string;
  readonly group: string;
  readonly snippets: readonly Snippet[];
  readonly chosen: string | undefined;
  readonly onChoose: (name: string | undefined) => void;
}

function Snippets({ title, group, snippets, chosen, onChoose }: SnippetsProps) {
  return (
    <>
      <h3>{title}</h3>
      <ul class="snippets">
        {snippets.map(({ name, summary, yaml }) => {
          const key = `${group} ${name}`;
          const isOpen = chosen === key;
          return (
            <li key={name}>
              <button type="button" class="link" aria-expanded={isOpen} onClick={() => onChoose(isOpen ? undefined : key)}>
                <strong>{name}</strong>
                <small>{summary}</small>
              </button>
              {isOpen && <CodeBlock text={yaml} label={`${name} as YAML`} />}
            </li>
          );
        })}
      </ul>
    </>
  );
}
