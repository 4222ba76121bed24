import type { FlowShape } from '../../../serve/shapes.ts';
import { useLoaded } from '../use-loaded.ts';

/** The name that pages show for a flow, by the flow's id. Undefined while it is being loaded; the id of a flow that is gone. */
export type FlowNames = (id: string) => string | undefined;

export function useFlowNames(): FlowNames {
  const { data, problem } = useLoaded<{ readonly flows: readonly FlowShape[] }>('/flows');
  return (id) => data?.flows.find((flow) => flow.id === id)?.name ?? (data || problem ? id : undefined);
}
