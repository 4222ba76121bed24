import { useState } from 'preact/hooks';
import type { ShownTest } from '../../../serve/page/page-shapes.ts';
import type { FlowShape } from '../../../serve/shapes.ts';
import { Empty, Panel } from '../../parts/tiles.tsx';
import { requestJson } from '../api.ts';
import { queryOf, VariableFields, type VariableValues } from '../flows/run-dialog.tsx';
import { ActionButton, LoadedView, ProblemNotice, RequestView } from '../frame/feedback.tsx';
import { Check, SelectField, TextField } from '../frame/fields.tsx';
import { Frame } from '../frame/frame.tsx';
import { useAction, useLoaded } from '../use-loaded.ts';
import { AnswerView } from './map-panel.tsx';

/** The user makes the node's `map` by clicking paths in the response. */
export function TestPage({ id }: { readonly id: string }) {
  const flow = useLoaded<FlowShape>(`/flows/${encodeURIComponent(id)}`);
  return (
    <Frame title="Test request" sub={<a href={`/flows/${encodeURIComponent(id)}`}>{flow.data?.name ?? id}</a>}>
      <LoadedView loaded={flow}>
        {(loaded) =>
          loaded.state === 'valid' ? <TestForm flow={loaded} /> : <Empty>The flow is not valid: solve its problems first.</Empty>
        }
      </LoadedView>
    </Frame>
  );
}

function TestForm({ flow }: { readonly flow: FlowShape }) {
  const [record, setRecord] = useState<Readonly<Record<string, string>>>({});
  const [node, setNode] = useState('');
  const [isSent, setSent] = useState(true);
  const [variables, setVariables] = useState<VariableValues>({});
  const [result, setResult] = useState<ShownTest>();
  const action = useAction();
  const test = () =>
    void action.run(async () => {
      const json = { record: { ...emptyRecord(flow), ...record }, send: isSent, ...(node !== '' && { node }) };
      setResult(await requestJson<ShownTest>(`/flows/${encodeURIComponent(flow.id)}/tests${queryOf(variables)}`, { method: 'POST', json }));
    });
  return (
    <div class="stack">
      <Panel title="Record" note={isSent ? 'costs a credit' : 'nothing is sent'}>
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault();
            test();
          }}
        >
          {flow.fields.map((field) => (
            <TextField
              key={field}
              label={field}
              value={record[field] ?? ''}
              onInput={(value) => setRecord({ ...record, [field]: value })}
            />
          ))}
          <VariableFields flow={flow} values={variables} onInput={setVariables} />
          <SelectField
            label="Node"
            value={node}
            choices={[['', 'the first that sends a request'], ...flow.nodes.map((each) => [each.id, each.id] as const)]}
            onChange={setNode}
          />
          <Check isChecked={!isSent} onChange={(isChecked) => setSent(!isChecked)}>
            Only show it, send nothing
          </Check>
          <ActionButton action={action} kind="main">
            {isSent ? 'Send' : 'Show the request'}
          </ActionButton>
        </form>
        <ProblemNotice problem={action.problem} />
      </Panel>
      {result === undefined ? (
        <Empty>Fill in a record and send it: the answer's paths appear here, and a click puts one into the map.</Empty>
      ) : (
        <Result key={node} flow={flow} node={node} result={result} />
      )}
    </div>
  );
}

function emptyRecord({ fields }: FlowShape): Record<string, string> {
  return Object.fromEntries(fields.map((field) => [field, '']));
}

function Result({ flow, node, result }: { readonly flow: FlowShape; readonly node: string; readonly result: ShownTest }) {
  const { request, response, failure } = result;
  return (
    <>
      {failure !== null && (
        <div class="notice bad" role="alert">
          <strong>The record would fail</strong>
          <span>{failure.message}</span>
        </div>
      )}
      {request !== null && (
        <Panel title="Request" note="secrets are masked">
          <RequestView request={request} />
        </Panel>
      )}
      {response !== null && <AnswerView flow={flow} node={node} result={{ ...result, response }} />}
    </>
  );
}
