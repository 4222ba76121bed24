import type { FlowShape } from '../../../serve/shapes.ts';
import { TextField } from '../frame/fields.tsx';

/** The values that the user typed for a flow's variables, by name. Empty values are not sent. */
export type VariableValues = Readonly<Record<string, string>>;

interface VariableFieldsProps {
  readonly flow: Pick<FlowShape, 'open_vars'>;
  readonly values: VariableValues;
  readonly onInput: (values: VariableValues) => void;
}

/** Shows a text field for each variable that callers of the flow may set. */
export function VariableFields({ flow, values, onInput }: VariableFieldsProps) {
  return (flow.open_vars ?? []).map(({ name, default: value }) => (
    <TextField
      key={name}
      label={`Variable ${name}`}
      hint={value === null ? 'needed: the flow has no value for it' : 'a variable of the flow; leave it empty for its default'}
      value={values[name] ?? ''}
      placeholder={value ?? ''}
      isRequired={value === null}
      onInput={(text) => onInput({ ...values, [name]: text })}
    />
  ));
}

/** True if the user has typed a value for every variable without a default. */
export function hasValues({ open_vars: open = [] }: Pick<FlowShape, 'open_vars'>, values: VariableValues): boolean {
  return open.every(({ name, default: value }) => value !== null || (values[name] ?? '') !== '');
}

/** Returns a query string that sets variables and further parameters, with the question mark. It is empty if there is nothing to set. */
export function queryOf(values: VariableValues, more: Readonly<Record<string, string>> = {}): string {
  const members = [...Object.entries(values).map(([name, value]) => [`var.${name}`, value] as const), ...Object.entries(more)];
  const query = new URLSearchParams(members.filter(([, value]) => value !== '').map(([name, value]) => [name, value])).toString();
  return query === '' ? '' : `?${query}`;
}
