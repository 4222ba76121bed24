import { compilePath } from '../../core/answer/path.ts';
import type { Problem } from '../../core/failure.ts';
import { foreignReferences, isReferable, nearReferences, referable, shellVariableAdvice } from '../../core/template/template.ts';
import { orUndefined } from '../../core/value/value.ts';
import type { At, Source } from '../source.ts';

/** Warnings for texts that look like references but are not, anywhere in the flow. */
export function nearReferenceWarnings(source: Source): Problem[] {
  const warnings: Problem[] = [];
  visit(source.value, []);
  return warnings;

  function visit(value: unknown, at: At): void {
    if (typeof value === 'string') {
      for (const text of nearReferences(value)) warnings.push(source.at(at, nearWarning(text, value), text));
      if (at.at(-1) === 'url') for (const text of foreignReferences(value)) warnings.push(source.at(at, foreignWarning(text), text));
    }
    if (typeof value !== 'object' || value === null) return;
    for (const [name, member] of Object.entries(value)) {
      const place = [...at, Array.isArray(value) ? Number(name) : name];
      if (at.includes('body') || at.includes('form'))
        for (const text of nearReferences(name)) warnings.push(source.atName(place, nearWarning(text, name)));
      visit(member, place);
    }
  }
}

function nearWarning(text: string, around: string): string {
  if (!text.endsWith('}}'))
    return `${text} is not a reference and stays text; a reference ends with two braces\nwrite ${text.replace(/\}$/, '')}}}`;
  const inside = text.slice(2, -2).trim();
  if (/^vars\.[A-Za-z_]\w*$/.test(inside))
    return `${text} is not a reference and stays text; the braces hold no spaces\nwrite {{${inside}}}`;
  const name = withoutPrefix(inside);
  const equals = around.startsWith('=') && name !== inside ? ', and no = in front' : '';
  const wayOut = isReferable(name) ? `${name === inside ? 'drop the spaces:' : 'write'} {{${name}}}${equals}` : waysOut(name);
  return `${text} is not a reference and stays text; a name holds only letters, digits and underscores\n${wayOut}`;
}

function foreignWarning(text: string): string {
  const shell = /^\$\{[A-Z]/.test(text) ? shellVariableAdvice(text) : '';
  return `${text} is not a reference and stays text; a reference has two braces${shell}\n${shell === '' ? '' : 'or, for a field of the record, '}write {{${text.replace(/[^\p{L}\p{M}\p{N}_]/gu, '')}}}`;
}

/** The field's name without the prefix that other tools write, such as `$json.` and `.`. */
function withoutPrefix(inside: string): string {
  return inside.replace(/^(?:\$json)?\.(?=.)/, '').replace(/^\$json\[(["'])(.*)\1\]$/s, '$2');
}

/** The way out for a field whose name no reference can hold. */
export function renaming(name: string): string {
  return `rename the field with a set node first: rename: { ${JSON.stringify(name)}: ${referable(name)} }`;
}

/** The ways out for a name between braces that no field can have in a reference, the likeliest first. */
function waysOut(name: string): string {
  const better = referable(name);
  if (better === '') return 'write the name of a field between the braces';
  const rename = renaming(name);
  if (!/[.[]/.test(name) || !orUndefined(() => compilePath(name))) return rename;
  // With a list of paths the whole path becomes the field's name.
  const ways = [`if a map adds it, name it there: map: { ${better}: ${JSON.stringify(name)} }`, `if a column has this name, ${rename}`];
  return [...(isInsideField.test(name) ? [takingOut(name, better)] : []), ...ways].join('\n');
}

/** A path such as `nested.k` that CEL writes in the same way. */
const isInsideField = /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d+\])+$/;

function takingOut(path: string, better: string): string {
  return `if it is a value inside a field, take it out with a set node first: fields: { ${better}: { cel: ${JSON.stringify(path)} } }`;
}
