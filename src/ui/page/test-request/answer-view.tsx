import { useState } from 'preact/hooks';
import type { FlowText, StructureRow, TestResult } from '../../../serve/page/page-shapes.ts';
import type { FlowShape } from '../../../serve/shapes.ts';
import { counted, duration } from '../../figures.ts';
import { Empty, Panel } from '../../parts/panel.tsx';
import { Table } from '../../parts/table.tsx';
import { LoadedView } from '../frame/feedback.tsx';
import { useLoaded } from '../use-loaded.ts';
import { MapPanel } from './map-panel.tsx';
import { type PathMap, toggled } from './path-map.ts';
import { headerLines } from './request-view.tsx';

type Answered = TestResult & { readonly response: NonNullable<TestResult['response']> };

interface AnswerViewProps {
  readonly flow: FlowShape;
  /** The id of the node that sent the request. If empty, it is the first node that sends one. */
  readonly node: string;
  readonly result: Answered;
}

/** Shows the paths in a response, and the node's `map` made of the paths that the user chooses. */
export function AnswerView({ flow, node, result }: AnswerViewProps) {
  const text = useLoaded<FlowText>(`/flows/${encodeURIComponent(flow.id)}/text`);
  return (
    <LoadedView loaded={text}>
      {(loaded) => {
        const own = loaded.nodes.find(({ id, map }) => (node === '' ? map !== null : id === node));
        return <Mapped flow={flow} node={own?.id ?? node} text={loaded} written={own?.map ?? {}} result={result} />;
      }}
    </LoadedView>
  );
}

interface MappedProps extends AnswerViewProps {
  readonly text: FlowText;
  /** The node's `map` as the flow file contains it. */
  readonly written: PathMap;
}

function Mapped({ flow, node, text, written, result }: MappedProps) {
  const [map, setMap] = useState<PathMap>(written);
  const { response, structure, more_paths: more = 0 } = result;
  return (
    <div class="two">
      <Panel
        title="Answer"
        note={[response.status, response.ms === undefined ? undefined : duration(response.ms)].filter(Boolean).join(', ')}
      >
        {response.headers !== undefined && (
          <details>
            <summary>Headers</summary>
            <pre>{headerLines(response.headers).join('\n')}</pre>
          </details>
        )}
        {structure === null || structure.length === 0 ? (
          <Empty>The answer has no paths.</Empty>
        ) : (
          <Paths rows={structure} map={map} onToggle={(path) => setMap((before) => toggled(before, path, flow.fields))} />
        )}
        {more > 0 && <p>and {counted(more, 'more path')}</p>}
      </Panel>
      <MapPanel {...{ flow, node, map, written, answer: response, etag: text.etag }} onChange={setMap} />
    </div>
  );
}

interface PathsProps {
  readonly rows: readonly StructureRow[];
  readonly map: PathMap;
  readonly onToggle: (path: string) => void;
}

function Paths({ rows, map, onToggle }: PathsProps) {
  const chosen = new Set(Object.values(map));
  return (
    <Table
      label="Paths of the answer"
      rows={rows}
      columns={[
        {
          title: 'Path',
          isWide: true,
          cell: ({ path }) => (
            <button type="button" class="path" aria-pressed={chosen.has(path)} onClick={() => onToggle(path)}>
              <code>{path}</code>
            </button>
          ),
        },
        { title: 'Type', cell: ({ type }) => type },
        { title: 'Sample', cell: ({ sample }) => <code>{sample}</code> },
      ]}
    />
  );
}
