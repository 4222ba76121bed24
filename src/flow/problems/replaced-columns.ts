import type { MappedField } from '../../core/answer/mapping.ts';
import { columnsAfterAll } from '../../core/columns.ts';
import type { Problem } from '../../core/failure.ts';
import type { Node } from '../../core/node.ts';
import type { ReplacedColumn } from '../../core/plan.ts';
import { freeName } from '../../core/text/suggest.ts';
import { yamlWord } from '../../core/text/yaml-word.ts';
import { textOf, type Value } from '../../core/value/value.ts';
import type { PlacedStep } from '../compilation.ts';
import type { Source } from '../source.ts';

/** Columns of the input that have not been replaced or removed: the name that each has now, mapped to its name in the input. */
type OwnColumns = ReadonlyMap<string, string>;

/** Finds the columns of the input that the nodes' maps replace although their fields are not written with `replace: true`. */
export function replacedIn(steps: readonly PlacedStep[], input: readonly string[], source: Source): ReplacedColumn[] {
  const found: ReplacedColumn[] = [];
  const taken = new Set([...input, ...columnsAfterAll(steps, input)]);
  passed(steps, new Map(input.map((name) => [name, name])));
  return found;

  function passed(steps: readonly PlacedStep[], before: OwnColumns): OwnColumns {
    let own = before;
    for (const step of steps) {
      const { id, node, when, onError } = step;
      for (const mapped of node.mapped ?? []) {
        const { field } = mapped;
        const column = own.get(field);
        if (column !== undefined) found.push({ node: id, field, column, problem: replacement(mapped, column, step) });
      }
      const after = node.inner ? passed(node.inner.steps as PlacedStep[], withoutCarried(node.inner.carried, own)) : remaining(node, own);
      // A record that skips the node, or continues after it failed there, still has the column.
      own = when || onError === 'keep' ? new Map([...own, ...after]) : after;
    }
    return own;
  }

  function replacement({ field, member, at }: MappedField, column: string, { at: node }: PlacedStep): Problem {
    const place = [...node, ...at];
    const isNamed = typeof at.at(-1) === 'string';
    const whose = field === column ? `"${field}" is a column of the input` : `"${field}" is the input's column "${column}"`;
    const entry = (name: string, value: string) => {
      const text = `${yamlWord(name)}: ${value}`;
      return isNamed ? text : `map: { ${text} }`;
    };
    const other = freeName(field, (name) => taken.has(name));
    const { path, required, default: fallback } = member;
    const options = [
      ...(required ? ['required: true'] : []),
      ...(fallback === undefined
        ? []
        : [`default: ${typeof fallback === 'string' ? JSON.stringify(fallback) : textOf(fallback as Value)}`]),
    ];
    const marked = (more: readonly string[]) => `{ ${[`path: ${yamlWord(path)}`, ...options, ...more].join(', ')} }`;
    const message = `${whose}, and the answer replaces it${options.length > 0 ? '' : ', even with an empty value'}
to keep the column, write another name: ${entry(other, options.length > 0 ? marked([]) : yamlWord(path))}
to replace it, write: ${entry(field, marked(['replace: true']))}`;
    return isNamed ? source.atName(place, message) : source.at(place, message);
  }
}

/** Leaves out the fields that a loop carries: the flow says itself that each pass gives them a new value. */
function withoutCarried(carried: readonly string[] = [], own: OwnColumns): OwnColumns {
  return new Map([...own].filter(([name]) => !carried.includes(name)));
}

/** Returns the columns that still come from the input after a node. */
function remaining({ columns, renames }: Node, own: OwnColumns): OwnColumns {
  const made = columns([]);
  return new Map(
    [...own].flatMap(([name, column]): [string, string][] => {
      const now = renames?.get(name) ?? name;
      const isMade = now === name && made.includes(name);
      return isMade || !columns([name]).includes(now) ? [] : [[now, column]];
    }),
  );
}
