import { useState } from 'preact/hooks';
import type { FlowText, NodeLibrary, ServerInfo, Snippet } from '../../../serve/page/page-shapes.ts';
import type { FlowShape, RunListShape } from '../../../serve/shapes.ts';
import { Table } from '../../parts/table.tsx';
import { Empty, Panel } from '../../parts/tiles.tsx';
import { curlOfCall, curlOfRun } from '../docs-page.tsx';
import { CodeBlock, LoadedView } from '../frame/feedback.tsx';
import { Frame } from '../frame/frame.tsx';
import { RunTable } from '../runs/runs-page.tsx';
import { useLoaded } from '../use-loaded.ts';
import { creditsText, FlowProblems, FlowState } from './flows-page.tsx';
import { RunDialog } from './run-dialog.tsx';

export function FlowPage({ id }: { readonly id: string }) {
  const flow = useLoaded<FlowShape>(`/flows/${encodeURIComponent(id)}`, 5000);
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
          <LoadedView loaded={flow}>{(loaded) => <FlowPanels flow={loaded} />}</LoadedView>
        </div>
        <LibraryPanel />
      </div>
      {isStarting && data && <RunDialog flow={data} onClose={() => setStarting(false)} />}
    </Frame>
  );
}

function SubTitle({ flow }: { readonly flow: FlowShape }) {
  return (
    <>
      <code>{flow.id}</code> · {creditsText(flow.credits_per_record)} per record
    </>
  );
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

function FlowPanels({ flow }: { readonly flow: FlowShape }) {
  const runs = useLoaded<RunListShape>(`/runs?flow=${encodeURIComponent(flow.id)}&limit=5`, 5000);
  return (
    <>
      {flow.problems.length > 0 && <FlowProblems flow={flow} />}
      {flow.nodes.length > 0 && <Nodes flow={flow} />}
      <Panel title="Last runs">
        <LoadedView loaded={runs}>
          {({ runs: last }) =>
            last.length === 0 ? (
              <Empty>This flow has not run yet. Choose a file with Run, or send records with the command below.</Empty>
            ) : (
              <RunTable runs={last} isOfOneFlow />
            )
          }
        </LoadedView>
      </Panel>
      {flow.state === 'valid' && <CallLines flow={flow} />}
    </>
  );
}

function Nodes({ flow }: { readonly flow: FlowShape }) {
  const { data: text } = useLoaded<FlowText>(`/flows/${encodeURIComponent(flow.id)}/text`);
  return (
    <Panel title="Nodes" note="each record goes through them from first to last">
      <Table
        label="Nodes"
        rows={flow.nodes}
        columns={[
          { title: 'Node', cell: ({ id }) => id },
          { title: 'Type', cell: ({ type }) => type },
          { title: 'Connection', isWide: true, cell: ({ connection }) => connection ?? <span class="dim">none</span> },
        ]}
      />
      <FieldLine label="needs the fields" fields={flow.fields} />
      <FieldLine label="adds the fields" fields={flow.adds} />
      {text?.nodes.map(({ id, yaml }) => (
        <details key={id}>
          <summary>{id} as YAML</summary>
          <CodeBlock text={yaml} label={`${id} as YAML`} />
        </details>
      ))}
    </Panel>
  );
}

function FieldLine({ label, fields }: { readonly label: string; readonly fields: readonly string[] }) {
  if (fields.length === 0) return null;
  return (
    <p class="chips">
      {label}
      {fields.map((field) => (
        <code key={field}>{field}</code>
      ))}
    </p>
  );
}

function CallLines({ flow }: { readonly flow: FlowShape }) {
  const { data: server } = useLoaded<ServerInfo>('/server');
  const address = server?.address ?? location.origin;
  return (
    <Panel title="From a program" note="with an API key in AUTOMATE_KEY">
      <h3>One record, answered at once</h3>
      <CodeBlock text={curlOfCall(address, flow)} label="curl for a call" />
      <h3>A file of records</h3>
      <CodeBlock text={curlOfRun(address, flow)} label="curl for a run" />
      <p class="dim">
        <a href="/settings/keys">Make a key</a> or read about <a href="/docs">the HTTP interface</a>
      </p>
    </Panel>
  );
}

/** Lists the node types, and the tools of each MCP connection. If the user chooses one, shows YAML to copy into a flow. */
function LibraryPanel() {
  const library = useLoaded<NodeLibrary>('/library');
  const [chosen, setChosen] = useState<string>();
  return (
    <aside class="panel" aria-label="Nodes and tools">
      <h2>Nodes and tools</h2>
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
    </aside>
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
