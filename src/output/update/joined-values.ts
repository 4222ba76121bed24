import { Failure } from '../../core/failure.ts';
import type { JoinedFile, Step } from '../../core/node.ts';
import { allSteps, type Plan } from '../../core/plan.ts';
import type { Fields } from '../../core/record.ts';
import { jsonOf } from '../../core/value/value.ts';
import { createClock } from '../../files/clock.ts';
import { hashOfFile } from '../run-identity.ts';

/** Finds the values that joined files will add to a record, before the record runs. */
export class JoinedValues {
  readonly #steps: readonly PlannedStep[];
  readonly #clock = createClock();
  #last: { readonly fields: Fields; readonly text: string } | undefined;

  private constructor(steps: readonly PlannedStep[]) {
    this.#steps = steps;
  }

  /** Undefined for a flow without joined files, which must be open. */
  static async of({ steps }: Plan): Promise<JoinedValues | undefined> {
    const last = steps.findLastIndex((step) => joinedIn(step).length > 0);
    return last < 0 ? undefined : new JoinedValues(await plannedSteps(steps.slice(0, last + 1)));
  }

  /** A text that changes if values that the record gets from joined files change. */
  textOf(fields: Fields): string {
    if (this.#last?.fields !== fields) this.#last = { fields, text: this.#find(fields) };
    return this.#last.text;
  }

  #find(fields: Fields): string {
    let rows: readonly Fields[] = [fields];
    let text = '';
    try {
      for (const { step, how } of this.#steps) {
        if (how !== 'run') {
          text += how;
          continue;
        }
        rows = rows.flatMap((row) => this.#rowsAt(step, row));
        const names = step.node.joined?.fields ?? [];
        text += `${rows.map((row) => names.map((name) => jsonOf(row.get(name) ?? null)).join()).join(';')},`;
      }
    } catch (error) {
      // The record fails before its next request, or continues with an error. Neither result is remembered.
      if (!(error instanceof Failure)) throw error;
      text += error.message;
    }
    return `joined:${text}`;
  }

  #rowsAt({ node, when }: Step, row: Fields): readonly Fields[] {
    return when && !when.evaluate(row, this.#clock) ? [row] : (node.rowsAtOnce?.(row, this.#clock) ?? [row]);
  }
}

/**
 * `run`: it can be run before the record runs. Otherwise its fields are not known yet, and the text is the content of its joined files: if
 * that changes, every record runs.
 */
interface PlannedStep {
  readonly step: Step;
  readonly how: string;
}

/** Answers are not known before the record runs, nor are the fields that are made from them. */
async function plannedSteps(steps: readonly Step[]): Promise<PlannedStep[]> {
  const unknown = new Set<string>();
  const planned: PlannedStep[] = [];
  for (const step of steps) {
    const { node, when } = step;
    const reads = [...(when?.named ?? []), ...node.reads.map(({ field }) => field)];
    const isKnown = node.rowsAtOnce !== undefined && !reads.some((field) => unknown.has(field));
    if (!isKnown) for (const field of node.columns([])) unknown.add(field);
    else if (!when) for (const field of node.columns([])) unknown.delete(field);
    planned.push({ step, how: isKnown ? 'run' : await contentOf(joinedIn(step)) });
  }
  return planned;
}

async function contentOf(files: readonly JoinedFile[]): Promise<string> {
  return (await Promise.all(files.map(({ path }) => hashOfFile(path)))).join();
}

function joinedIn(step: Step): JoinedFile[] {
  return allSteps([step]).flatMap(({ node }) => node.joined ?? []);
}
